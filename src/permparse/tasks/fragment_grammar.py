"""A small grammar of English: who did what to whom, where, and who said so.

A sentence is a `Clause`; `write` spells it out together with its logical form.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Verb(NamedTuple):
    """lemma, past tense ("Dora drew a map") and participle ("a map was drawn")."""

    lemma: str
    past: str
    participle: str


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _regular(*lemmas: str) -> tuple[Verb, ...]:
    past = [lemma + ("d" if lemma.endswith("e") else "ed") for lemma in lemmas]
    return tuple(Verb(lemma, form, form) for lemma, form in zip(lemmas, past, strict=True))


NAMES = _words("Anton Bruno Carla Dora Edgar Frieda Greta Hugo Ines Jonas Klara Linus Marta Nils Olga Pavel Rosa")
PERSONS = _words("baker pilot nurse farmer painter singer tailor miller clerk gardener student cook")
THINGS = _words("lamp kettle letter violin basket map ladder coin mirror hat kite candle drum ring clock bell")
PLACES = _words("cellar harbour garden market tower bridge station library valley kitchen forest square")
PREPOSITIONS = ("in", "near", "behind", "under")
ACTING = (*_regular("whistle", "laugh", "wait", "dance", "cough"), Verb("sleep", "slept", "slept"))
"""Intransitive verbs whose subject does something."""
BEFALLING = (
    *_regular("vanish", "rust", "float"),
    Verb("fall", "fell", "fallen"),
    Verb("sink", "sank", "sunk"),
)
"""Intransitive verbs whose subject something happens to."""
TRANSITIVE = (
    *_regular("admire", "clean", "count", "paint", "touch", "watch"),
    Verb("carry", "carried", "carried"),
    Verb("find", "found", "found"),
    Verb("draw", "drew", "drawn"),
    Verb("steal", "stole", "stolen"),
)
DITRANSITIVE = (
    *_regular("offer", "promise"),
    Verb("give", "gave", "given"),
    Verb("send", "sent", "sent"),
    Verb("lend", "lent", "lent"),
    Verb("show", "showed", "shown"),
)
REPORTING = (
    *_regular("claim", "believe", "notice", "hope"),
    Verb("say", "said", "said"),
    Verb("know", "knew", "known"),
    Verb("dream", "dreamt", "dreamt"),
)

# Words that training shows in one use only; generalisation examples show the other.
OBJECT_PERSONS = ("weaver", "parrot")
SUBJECT_NAMES = ("Yara", "Zeno")
ACTIVE_VERBS = _regular("follow", "repair")
PASSIVE_VERBS = _regular("polish", "open")
DOUBLE_OBJECT_VERBS = _regular("mail")
TO_VERBS = _regular("hand")
NEW_NAMES = ("Quentin", "Xenia", "Ravi", "Saskia")
"""Names that training never shows: copying has to carry them."""

ROLES = ("agent", "theme", "recipient", "content", *PREPOSITIONS)
"""In the order in which a logical form lists them."""


@dataclass(frozen=True)
class Noun:
    """A name, or a determiner with a noun and perhaps a place: a lamp near the tower ..."""

    head: str
    determiner: str = ""
    preposition: str = ""
    place: "Noun | None" = None


@dataclass(frozen=True)
class Clause:
    """A verb with its roles; `passive` names the role that is the subject of a passive ("" for active)."""

    verb: Verb
    agent: Noun | None = None
    theme: Noun | None = None
    recipient: Noun | None = None
    content: "Clause | None" = None
    passive: str = ""
    with_to: bool = True
    """Dora gave a map to Hugo, rather than: Dora gave Hugo a map."""


class Written(NamedTuple):
    """A sentence with its logical form, an item for each noun and verb."""

    words: list[str]
    form: str


class _Item(NamedTuple):
    position: int
    head: str
    roles: dict[str, str]


def write(clause: Clause) -> Written:
    """The sentence and its logical form: items in the order of their words, numbers naming words from 0.

    "the baker in the tower slept ." has the form "the baker(1, in=4); the tower(4); sleep(5, agent=1)".
    """
    words: list[str] = []
    items: list[_Item] = []
    _clause(clause, words, items)
    words.append(".")
    return Written(words, "; ".join(_format(item) for item in sorted(items, key=lambda item: item.position)))


def _format(item: _Item) -> str:
    roles = [f", {role}={item.roles[role]}" for role in ROLES if role in item.roles]
    return f"{item.head}({item.position}{''.join(roles)})"


def _noun(noun: Noun, words: list[str], items: list[_Item]) -> str:
    """Append the words of a noun phrase; return its name or the number of its noun."""
    words += [noun.determiner, noun.head] if noun.determiner else [noun.head]
    if not noun.determiner:
        return noun.head
    position = len(words) - 1
    roles: dict[str, str] = {}
    if noun.place is not None:
        words.append(noun.preposition)
        roles[noun.preposition] = _noun(noun.place, words, items)
    items.append(_Item(position, f"{noun.determiner} {noun.head}", roles))
    return str(position)


def _clause(clause: Clause, words: list[str], items: list[_Item]) -> str:
    """Append the words of a clause; return the number of its verb."""
    arguments = {"agent": clause.agent, "theme": clause.theme, "recipient": clause.recipient}
    roles: dict[str, str] = {}

    def say(role: str, before: str = "") -> None:
        noun = arguments[role]
        if noun is not None and role not in roles:
            words.extend([before] if before else [])
            roles[role] = _noun(noun, words, items)

    say(clause.passive or ("agent" if clause.agent else "theme"))
    words += ["was", clause.verb.participle] if clause.passive else [clause.verb.past]
    position = len(words) - 1
    if not clause.passive and not clause.with_to:
        say("recipient")
    say("theme")
    say("recipient", before="to")
    say("agent", before="by")
    if clause.content is not None:
        words.append("that")
        roles["content"] = _clause(clause.content, words, items)
    items.append(_Item(position, clause.verb.lemma, roles))
    return str(position)


@dataclass(frozen=True)
class Sampler:
    """Draws clauses; `depth` bounds how far places and reports nest."""

    source: random.Random
    depth: int

    def sentence(self) -> Clause:
        """Any clause of the training distribution."""
        reports = self.source.choices((0, 1, 2), (65, 22, 13))[0]
        return self.reported(min(reports, self.depth), self.clause())

    def reported(self, times: int, clause: Clause, places: bool = True) -> Clause:
        """... said that ... said that `clause`."""
        for _ in range(times):
            subject = self.person(self.places() if places else 0)
            clause = Clause(self.source.choice(REPORTING), agent=subject, content=clause)
        return clause

    def clause(self, places: bool = True) -> Clause:
        """A simple clause with verbs in the uses that training shows."""
        kind = self.source.choices(("acting", "befalling", "transitive", "ditransitive"), (15, 15, 40, 30))[0]
        if kind == "acting":
            return Clause(self.source.choice(ACTING), agent=self.person(self.places() if places else 0))
        if kind == "befalling":
            return Clause(self.source.choice(BEFALLING), theme=self.thing(self.places() if places else 0))
        passive = self.source.random() < 0.4
        if kind == "transitive":
            own = PASSIVE_VERBS if passive else ACTIVE_VERBS
            return self.transitive(self.source.choice(TRANSITIVE + own), passive, places)
        with_to = self.source.random() < 0.5
        own = () if passive else TO_VERBS if with_to else DOUBLE_OBJECT_VERBS
        return self.ditransitive(self.source.choice(DITRANSITIVE + own), passive, with_to, places)

    def transitive(self, verb: Verb, passive: bool, places: bool = True) -> Clause:
        """Dora admired a lamp; a lamp was admired (by Dora)."""
        agent = self.person(self.places() if places else 0)
        if passive and self.source.random() < 0.5:
            return Clause(verb, theme=self.object(places), passive="theme")
        return Clause(verb, agent=agent, theme=self.object(places), passive="theme" if passive else "")

    def ditransitive(self, verb: Verb, passive: bool, with_to: bool, places: bool = True) -> Clause:
        """Dora gave a map to Hugo; Dora gave Hugo a map; a map was given to Hugo; Hugo was given a map."""
        passive_role = self.source.choice(("theme", "recipient")) if passive else ""
        agent = None if passive and self.source.random() < 0.5 else self.person(0)
        theme, recipient = self.thing(self.places() if places else 0), self.recipient()
        return Clause(verb, agent, theme, recipient, passive=passive_role, with_to=with_to)

    def person(self, places: int, heads: Sequence[str] = PERSONS, names: Sequence[str] = NAMES) -> Noun:
        """Somebody who can be a subject."""
        if not places and self.source.random() < 0.5:
            return Noun(self.source.choice((*names, *SUBJECT_NAMES)))
        return self.common(heads, places)

    def object(self, places: bool = True) -> Noun:
        """What an action is done to: a thing, or somebody."""
        if self.source.random() < 0.3:
            return self.recipient()
        return self.thing(self.places() if places else 0)

    def recipient(self) -> Noun:
        """Somebody who is not a subject."""
        if self.source.random() < 0.5:
            return Noun(self.source.choice(NAMES))
        return self.common(PERSONS + OBJECT_PERSONS, 0)

    def thing(self, places: int) -> Noun:
        """A thing with a chain of places."""
        return self.common(THINGS, places)

    def common(self, heads: Sequence[str], places: int) -> Noun:
        """A determiner with one of the nouns, nested in exactly so many places."""
        head, determiner = self.source.choice(heads), self.source.choice(("a", "the"))
        if not places:
            return Noun(head, determiner)
        # A garden in a garden would read oddly.
        others = [place for place in PLACES if place != head]
        return Noun(head, determiner, self.source.choice(PREPOSITIONS), self.common(others, places - 1))

    def places(self) -> int:
        """How many places a noun of the training distribution is nested in."""
        return min(self.source.choices((0, 1, 2), (65, 22, 13))[0], self.depth)
