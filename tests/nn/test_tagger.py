import itertools
import math

import pytest
import torch

from nn.oracles import full_vocabulary_loss, sentence
from permparse.nn import InputSizes, MultisetTagger, TaggerExample, TaggerSettings, sentence_batch, tagger_batch
from permparse.nn.batches import Copies
from permparse.nn.encoders import WordEncoderSettings

LEX, VAR = 0, 1
SYMBOLS = 5
ENCODER = WordEncoderSettings(hidden_size=8, embedding_size=8, layers=1, dropout=0.0, word_dropout=0.0)


def small_tagger(max_count: int = 2, seed: int = 0) -> MultisetTagger:
    torch.manual_seed(seed)
    settings = TaggerSettings(encoder=ENCODER, ff_size=16, ff_dropout=0.0, max_count=max_count)
    return MultisetTagger(settings, InputSizes(12), SYMBOLS).double()


def everywhere(symbol: int, total: int, size: int) -> Copies:
    return total, [(i, symbol) for i in range(size)]


def at(symbol: int, total: int, *positions: int) -> Copies:
    return total, [(i, symbol) for i in positions]


def example(ids, copies, hints=()) -> TaggerExample:
    return TaggerExample.build(sentence(ids), copies, hints)


def enumerated_loss(tagger: MultisetTagger, ids: list[int], groups: list[Copies]) -> float:
    """Sum over all counts of all cells that agree with the groups; the other cells are zero."""
    log_probs = tagger.log_probs(sentence_batch([sentence(ids)]))[0].detach()
    size, symbols, choices = log_probs.shape
    cells = [(i, v) for i in range(size) for v in range(symbols)]
    total = 0.0
    for values in itertools.product(range(choices), repeat=len(cells)):
        counts = dict(zip(cells, values, strict=True))
        explained = {cell for _, group in groups for cell in group}
        fits = all(sum(counts[cell] for cell in group) == total for total, group in groups)
        if fits and all(k == 0 for cell, k in counts.items() if cell not in explained):
            total += math.exp(sum(float(log_probs[i, v, k]) for (i, v), k in counts.items()))
    return -math.log(total)


def test_loss_equals_enumeration_with_lexicon_and_variables():
    torch.manual_seed(3)
    settings = TaggerSettings(encoder=ENCODER, ff_size=8, ff_dropout=0.0, max_count=1)
    tagger = MultisetTagger(settings, InputSizes(12), 3).double()
    groups = [everywhere(2, 2, 4), at(LEX, 1, 0, 3), at(LEX, 1, 1), at(VAR, 1, 2)]
    loss = tagger.loss(tagger_batch([example([4, 5, 6, 4], groups)]))
    assert loss.item() == pytest.approx(enumerated_loss(tagger, [4, 5, 6, 4], groups))


def test_loss_and_annotation_equal_enumeration_where_a_token_is_copied_or_not():
    """Symbol 2 is also what the lexicon makes of the words at 1 and 2: there it is produced through LEX."""
    torch.manual_seed(4)
    settings = TaggerSettings(encoder=ENCODER, ff_size=8, ff_dropout=0.0, max_count=2)
    tagger = MultisetTagger(settings, InputSizes(12), 3).double()
    torch.nn.init.normal_(tagger.logits.bias)
    ids, mixed = [4, 5, 6], (3, [(0, 2), (1, LEX), (2, LEX)])
    batch = tagger_batch([example(ids, [mixed])])
    assert tagger.loss(batch).item() == pytest.approx(enumerated_loss(tagger, ids, [mixed]))
    counts = tagger.constrained_counts(batch)[0]
    log_probs = tagger.log_probs(batch.sentences)[0].detach()
    ways = [k for k in itertools.product(range(3), repeat=3) if sum(k) == 3]
    best = max(ways, key=lambda k: sum(float(log_probs[i, v, n]) for n, (i, v) in zip(k, mixed[1], strict=True)))
    assert tuple(int(counts[cell]) for cell in mixed[1]) == best
    assert counts.sum() == 3


def test_loss_equals_full_vocabulary_recursion_on_ragged_batches():
    tagger = small_tagger()
    examples = [
        example([4, 5, 6, 7], [everywhere(2, 3, 4), everywhere(4, 1, 4)]),
        example([8, 9], [everywhere(3, 2, 2)]),
        example([8, 9, 10], []),
    ]
    batch = tagger_batch(examples)
    torch.testing.assert_close(tagger.loss(batch), full_vocabulary_loss(tagger, batch))
    alone = torch.cat([tagger.loss(tagger_batch([one])) for one in examples])
    torch.testing.assert_close(tagger.loss(batch), alone)


def test_hints_add_the_log_probability_of_enough_copies():
    tagger = small_tagger()
    hinted = example([4, 5], [everywhere(2, 2, 2)], [at(2, 2, 1), at(2, 9, 0)])
    batch = tagger_batch([example([6], []), hinted])
    probs = tagger.log_probs(batch.sentences)[1, :, 2].exp()
    expected = -0.5 * (probs[1, 2].log() + probs[0, 2].log())
    difference = tagger.loss(batch, hint_weight=0.5) - tagger.loss(batch)
    torch.testing.assert_close(difference, torch.stack([expected * 0, expected]))
    difference.sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in tagger.parameters())


def test_prediction_is_the_best_count_of_every_cell():
    tagger = small_tagger().eval()
    batch = sentence_batch([sentence([4, 5, 6]), sentence([7])])
    best, counts = tagger.log_probs(batch).max(-1)
    for b, (lattice, length) in enumerate(zip(tagger.predict(batch), (3, 1), strict=True)):
        assert lattice.best.tolist() == counts[b, :length].tolist()
        assert lattice.log_prob == pytest.approx(best[b, :length].sum().item(), rel=1e-5)


def test_constrained_counts_unite_to_the_gold_multiset():
    tagger = small_tagger().eval()
    groups = [everywhere(2, 4, 3), at(LEX, 2, 0, 2), at(VAR, 1, 1)]
    batch = tagger_batch([example([4, 5, 6], groups), example([7], [])])
    counts = tagger.constrained_counts(batch)
    assert counts[0].sum(0).tolist() == [2, 1, 4, 0, 0]
    assert counts[0, 1, LEX] == 0
    assert counts[0, 1, VAR] == 1
    assert counts[1].sum() == 0
    with pytest.raises(ValueError, match="total 3: expected at most 2"):
        tagger.constrained_counts(tagger_batch([example([7], [at(VAR, 3, 0)])]))


def test_constrained_counts_equal_the_prediction_where_that_is_right():
    tagger = small_tagger(seed=1).eval()
    torch.nn.init.normal_(tagger.logits.bias)  # untrained, it would predict nothing
    predicted = torch.from_numpy(tagger.predict(sentence_batch([sentence([4, 5, 6])]))[0].best)
    totals = predicted.sum(0).tolist()
    groups = [everywhere(v, total, 3) for v, total in enumerate(totals) if total]
    assert groups
    assert torch.equal(tagger.constrained_counts(tagger_batch([example([4, 5, 6], groups)]))[0], predicted)


def test_one_word_empty_sentence_and_empty_batch_are_fine():
    tagger = small_tagger()
    batch = tagger_batch([example([4], [everywhere(2, 1, 1)]), example([], [])])
    loss = tagger.loss(batch)
    assert torch.isfinite(loss).all()
    assert loss[1] == 0
    assert tagger.loss(tagger_batch([])).shape == (0,)


def test_training_learns_a_toy_task_from_totals_alone():
    torch.manual_seed(0)
    plain = ENCODER.model_copy(update={"kind": "nn.oracles:PlainEncoder"})
    tagger = MultisetTagger(TaggerSettings(encoder=plain, ff_dropout=0.0, max_count=2), InputSizes(12), SYMBOLS)
    # words 4 and 5 give symbols 2 and 3, word 6 gives two copies of symbol 4
    gives = {4: (2, 1), 5: (3, 1), 6: (4, 2)}
    examples = []
    for words in itertools.product(gives, repeat=3):
        totals: dict[int, int] = {}
        for word in words:
            symbol, copies = gives[word]
            totals[symbol] = totals.get(symbol, 0) + copies
        examples.append(example(words, [everywhere(v, n, 3) for v, n in totals.items()]))
    batch = tagger_batch(examples)
    optimiser = torch.optim.Adam(tagger.parameters(), 2e-2)
    for _ in range(100):
        optimiser.zero_grad()
        tagger.loss(batch).mean().backward()
        optimiser.step()
    for lattice, learned in zip(tagger.eval().predict(batch.sentences), examples, strict=True):
        for counts, word in zip(lattice.best, learned.sentence.ids.tolist(), strict=True):
            symbol, copies = gives[word]
            assert counts[symbol] == copies == counts.sum()
