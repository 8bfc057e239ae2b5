from permparse.multiset import LEX, VAR, Group, anchors, attributed, target_groups, unreachable

SYMBOLS = {"agent": 2, "*": 3, "Emma": 4}


def test_every_kind_of_token_has_its_group():
    found = target_groups(["*", "cat", "1", "see", "agent", "2", "1"], [None, "cat", "see"], SYMBOLS, variables=True)
    assert set(found.groups) == {
        Group(3, 1, (0, 1, 2)),
        Group(LEX, 1, (1,)),
        Group(VAR, 2, (1,)),
        Group(LEX, 1, (2,)),
        Group(2, 1, (0, 1, 2)),
        Group(VAR, 1, (2,)),
    }
    assert found.unproducible == {}


def test_words_with_the_same_lexical_token_share_a_group():
    found = target_groups(["cat", "cat"], ["cat", None, "cat"], SYMBOLS)
    assert found.groups == (Group(LEX, 2, (0, 2)),)


def test_lexicon_wins_over_the_symbol_of_the_same_name():
    assert target_groups(["Emma"], ["Emma"], SYMBOLS).groups == (Group(LEX, 1, (0,)),)
    assert target_groups(["Emma"], ["Liam"], SYMBOLS).groups == (Group(4, 1, (0,)),)


def test_case_can_be_ignored():
    assert target_groups(["EMMA"], ["emma"], {}).unproducible == {"EMMA": 1}
    assert target_groups(["EMMA"], ["emma"], {}, normalise=str.lower).groups == (Group(LEX, 1, (0,)),)


def test_what_nothing_can_produce_is_reported_with_its_multiplicity():
    found = target_groups(["7", "x", "x", "01"], [None, None], SYMBOLS, variables=True)
    assert found.groups == ()
    assert found.unproducible == {"7": 1, "x": 2, "01": 1}
    assert target_groups(["agent"], [], SYMBOLS).unproducible == {"agent": 1}


def test_empty_target_has_no_groups():
    assert target_groups([], ["cat"], SYMBOLS).groups == ()


def test_groups_beyond_the_largest_count_are_unreachable():
    small, large = Group(2, 8, (0, 1)), Group(2, 9, (0, 1))
    assert unreachable([small, large], max_count=4) == [large]


def test_operators_are_anchored_at_the_word_they_precede():
    # * cat 1 see agent 2 1: "*" precedes the word cat, "agent" the variable of see
    target = ["*", "cat", "1", "see", "agent", "2", "1"]
    found = anchors(target, [None, "cat", "see"], SYMBOLS, variables=True)
    assert found == [Group(3, 1, (1,)), Group(2, 1, (2,))]


def test_what_precedes_an_ambiguous_word_or_nothing_is_not_anchored():
    assert anchors(["agent", "cat"], ["cat", "cat"], SYMBOLS) == []
    assert anchors(["cat", "agent"], ["cat"], SYMBOLS) == []
    assert anchors(["agent", "agent", "?", "cat"], ["cat"], SYMBOLS) == [Group(2, 2, (0,))]


def test_tokens_are_attributed_to_the_homes_given():
    target = ["*", "cat", "1", "see", "agent", "2", "1"]
    homes = [2, 2, None, 5, 5, None, None]
    found = attributed(target, homes, [None, "cat", "see"], SYMBOLS, variables=True)
    assert found == [Group(3, 1, (1,)), Group(2, 1, (2,))]
    assert attributed(["agent", "cat"], [1, None], ["cat", "cat"], SYMBOLS) == []
    assert attributed(["agent", "*"], [1, None], ["cat"], SYMBOLS) == []


def test_an_adjacent_anchor_has_nothing_between():
    target = ["agent", "*", "cat"]
    assert anchors(target, ["cat"], SYMBOLS) == [Group(2, 1, (0,)), Group(3, 1, (0,))]
    assert anchors(target, ["cat"], SYMBOLS, adjacent=True) == [Group(3, 1, (0,))]
