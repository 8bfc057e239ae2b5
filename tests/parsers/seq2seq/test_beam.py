"""Beam search against enumeration, free and constrained to permutations."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from parsers.seq2seq.tables import Table, every_output, every_permutation, numbered
from permparse.parsers.seq2seq.beam import beam_search

TOKENS, LONGEST, SENTENCES = 5, 4, 3


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_n_likeliest_outputs(seed: int) -> None:
    model = Table(seed, SENTENCES, TOKENS)
    found = beam_search(model, numbered(SENTENCES), torch.full((SENTENCES,), LONGEST), beam=100, n_best=6)
    for b in range(SENTENCES):
        best = sorted(every_output(TOKENS, LONGEST), key=lambda ids: -model.score(b, ids))[:6]
        assert [h.ids for h in found[b]] == best
        assert [h.log_prob for h in found[b]] == pytest.approx([model.score(b, ids) for ids in best])


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_sentence_is_searched_alike_alone_and_in_a_batch(beam: int) -> None:
    model, limits = Table(1, SENTENCES, TOKENS), torch.tensor([2, 6, 9])
    together = beam_search(model, numbered(SENTENCES), limits, beam, n_best=beam)
    for b in range(SENTENCES):
        alone = Table(1, SENTENCES, TOKENS)
        alone.table.data[0] = model.table.data[b]
        assert beam_search(alone, numbered(1), limits[b : b + 1], beam, n_best=beam)[0] == together[b]


def test_the_limit_of_every_sentence_holds_and_only_that_one() -> None:
    model, limits = Table(2, SENTENCES, TOKENS), [0, 1, 3]
    model.table.data[..., 1] -= 5.0 * torch.arange(TOKENS, 0, -1)  # what ends early costs
    found = beam_search(model, numbered(SENTENCES), torch.tensor(limits), beam=100, n_best=1)
    for b, limit in enumerate(limits):
        assert found[b][0].ids == max(every_output(TOKENS, limit), key=lambda ids: model.score(b, ids))


def random_multisets(chance: np.random.Generator, count: int) -> np.ndarray:
    """How often each of the tokens 2.. is to be used, up to eight in all, sometimes none."""
    table = np.zeros((count, TOKENS), dtype=np.int64)
    for row in table:
        for token in chance.integers(2, TOKENS, chance.integers(0, 9)):
            row[token] += 1
    return table


def test_every_constrained_output_is_a_permutation_of_its_multiset() -> None:
    """10,000 cases, of any beam, with scores that would rather repeat or stop."""
    chance = np.random.default_rng(0)
    for round_number in range(50):
        count, beam = 200, int(chance.integers(1, 6))
        model = Table(round_number, count, TOKENS)
        model.table.data[..., 1] += float(chance.choice([-30.0, 0.0, 30.0]))
        multisets = random_multisets(chance, count)
        limits = torch.zeros(count, dtype=torch.int64)
        found = beam_search(model, numbered(count), limits, beam, n_best=beam, multisets=torch.from_numpy(multisets))
        for b, best in enumerate(found):
            wanted = {token: n for token, n in enumerate(multisets[b].tolist()) if n}
            assert best
            assert all(Counter(h.ids) == wanted for h in best)
            assert len({h.ids for h in best}) == len(best)


@pytest.mark.parametrize("seed", range(20))
def test_a_wide_constrained_beam_finds_the_best_permutations(seed: int) -> None:
    model, chance = Table(seed, 1, 7), np.random.default_rng(seed)
    ids = tuple(chance.integers(2, 7, 5).tolist())
    multiset = torch.bincount(torch.tensor(ids), minlength=7)[None]
    found = beam_search(model, numbered(1), torch.tensor([0]), beam=120, n_best=3, multisets=multiset)[0]
    best = sorted(every_permutation(ids), key=lambda order: -model.score(0, order))[:3]
    assert [h.ids for h in found] == best
    assert [h.log_prob for h in found] == pytest.approx([model.score(0, order) for order in best])
