import numpy as np
import pytest
import torch

from nn.oracles import sentence
from permparse.multiset import CanonicalMultiset, canonical_multiset
from permparse.nn import InputSizes, JumpScorer, ScorerBatch, ScorerSettings, Sentence, geometric_log_attention
from permparse.nn import scorer_batch as batch_of_sentences
from permparse.nn.encoders import WordEncoderSettings
from permparse.nn.jump_scorer import DISTANCE_BUCKETS, MAX_COPIES, SATURATION, distance_bucket

ENCODER = WordEncoderSettings(hidden_size=8, embedding_size=8, layers=1)
VARIANTS = [
    {},
    {"distance": True},
    {"multisets": True},
    {"normalise": False},
    {"plain_values": True},
    {"multisets": True, "plain_values": True},
    {"jumps": False},
]


def small_scorer(**changes) -> JumpScorer:
    torch.manual_seed(0)
    settings = ScorerSettings(encoder=ENCODER, copy_size=4, ff_size=16, jump_size=8, **changes)
    return JumpScorer(settings, InputSizes(12), symbols=6, special_symbols=2).double().eval()


def scorer_batch(sources: list[list[int]], multisets: list[CanonicalMultiset]) -> ScorerBatch:
    return batch_of_sentences([sentence(ids) for ids in sources], multisets)


def random_multiset(seed: int, positions: int, most: int = 2) -> CanonicalMultiset:
    return canonical_multiset(np.random.default_rng(seed).integers(0, most + 1, (positions, 6)))


@pytest.mark.parametrize("changes", VARIANTS)
def test_padding_equals_slicing(changes):
    scorer = small_scorer(**changes)
    sources = [[4, 5, 6, 7], [8, 9], [10]]
    multisets = [random_multiset(b, len(source)) for b, source in enumerate(sources)]
    problem = scorer(scorer_batch(sources, multisets))
    for b, n in enumerate(problem.sizes()):
        alone = scorer(scorer_batch([sources[b]], [multisets[b]]))
        for name in ("start", "end"):
            torch.testing.assert_close(getattr(problem, name)[b, :n], getattr(alone, name)[0], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(problem.jump[b, :n, :n], alone.jump[0], rtol=1e-12, atol=1e-12)
        if problem.position is not None and alone.position is not None:
            torch.testing.assert_close(problem.position[b, :n, :n], alone.position[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("changes", VARIANTS)
def test_every_term_is_trained(changes):
    """Every weight moves the scores, but for what a softmax cannot see or no token of the batch has."""
    scorer = small_scorer(**changes)
    problem = scorer(scorer_batch([[4, 5, 6], [7, 8, 9]], [random_multiset(1, 3), random_multiset(5, 3)]))
    scores = [problem.position] if problem.position is not None else [problem.start, problem.end, problem.jump]
    loss = sum((torch.randn_like(part) * part).sum() for part in scores)
    loss.backward()
    still = {name for name, p in scorer.named_parameters() if p.grad is None or not (p.grad != 0).any()}
    assert still == set()
    assert all(torch.isfinite(p.grad).all() for p in scorer.parameters())


def test_paper_jumps_are_log_attention_and_never_to_itself():
    problem = small_scorer()(scorer_batch([[4, 5, 6]], [random_multiset(2, 3)]))
    assert (problem.jump.diagonal(dim1=1, dim2=2) == 0).all()
    off_diagonal = ~torch.eye(problem.size, dtype=torch.bool)
    assert (problem.jump[0, off_diagonal] < 0).all()
    mass = problem.jump[0].exp().masked_fill(~off_diagonal, 0).sum(-1)
    assert (mass <= 1).all()


def test_plain_values_do_not_know_their_sentence_but_operators_do():
    scorer = small_scorer(multisets=True, plain_values=True)
    multiset = CanonicalMultiset(np.array([0, 0, 3]), np.array([0, 1, 2]), np.array([0, 0, 0]))
    problems = [scorer(scorer_batch([[4, 5, word]], [multiset])) for word in (6, 7)]
    starts = [problem.start[0] for problem in problems]
    torch.testing.assert_close(starts[0][:2], starts[1][:2])
    assert not torch.isclose(starts[0][2], starts[1][2])


def test_words_are_seen_through_their_id_only():
    """Two names that share the id of the unknown word look alike, whatever they are; another id does not."""
    scorer = small_scorer()
    one = CanonicalMultiset(np.array([0, 1]), np.array([0, 0]), np.array([0, 0]))
    sentences = [Sentence((name,), np.array([word])) for name, word in (("Ann", 4), ("Zoe", 4), ("Zoe", 5))]
    problem = scorer(batch_of_sentences(sentences, [one] * 3))
    assert torch.equal(problem.jump[0], problem.jump[1])
    assert not torch.equal(problem.jump[0], problem.jump[2])


def test_multisets_let_the_encoder_see_what_a_word_contributes():
    """The state of the first word changes with the symbols of the second, only if the encoder may see them."""
    one = CanonicalMultiset(np.array([0, 1]), np.array([0, 1]), np.array([0, 0]))
    other = CanonicalMultiset(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]))
    for multisets in (False, True):
        problem = small_scorer(multisets=multisets)(scorer_batch([[4, 5], [4, 5]], [one, other]))
        assert torch.equal(problem.start[0, 0], problem.start[1, 0]) is not multisets


def test_empty_multisets_and_single_tokens_are_fine():
    scorer = small_scorer(multisets=True)
    empty, single = random_multiset(0, 2, most=0), CanonicalMultiset(*np.zeros((3, 1), dtype=np.int64))
    problem = scorer(scorer_batch([[4, 5], [6], []], [empty, single, empty]))
    assert problem.sizes() == [0, 1, 0]
    assert scorer(scorer_batch([[]], [empty])).sizes() == [0]
    assert scorer(scorer_batch([], [])).batch_size == 0


def test_more_copies_than_are_told_apart_share_an_embedding():
    scorer = small_scorer()
    counts = np.zeros((1, 6), dtype=np.int64)
    counts[0, 2] = 300
    problem = scorer(scorer_batch([[4]], [canonical_multiset(counts)]))
    assert problem.sizes() == [300]
    assert torch.equal(problem.start[0, MAX_COPIES - 1], problem.start[0, 299])
    assert not torch.equal(problem.start[0, 0], problem.start[0, 1])


def test_scores_stay_within_the_saturation_whatever_the_weights():
    scorer = small_scorer()
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.mul_(1e4)
    problem = scorer(scorer_batch([[4, 5, 6]], [random_multiset(3, 3)]))
    assert problem.start.abs().max() <= SATURATION
    worst = geometric_log_attention(torch.full((problem.size, problem.size), SATURATION)).nan_to_num(neginf=0).min()
    assert problem.jump.min() >= worst - 2 * SATURATION


@torch.no_grad()
def test_without_normalisation_scores_are_those_of_the_paper():
    """No LayerNorm, raw attention scores within [-16, 14], start and end within ±50, untouched inside."""
    scorer = small_scorer(normalise=False)
    batch = scorer_batch([[4, 5, 6]], [random_multiset(3, 3)])
    assert not any(isinstance(part, torch.nn.LayerNorm) for part in scorer.represent)
    assert 0 < scorer(batch).start.abs().max() < 1
    scorer.ends[-1].bias.copy_(torch.tensor([1e6, -1e6]))
    scorer.direction.bias.copy_(torch.tensor([1e6, -1e6]))
    problem = scorer(batch)
    assert (problem.start == 50).all()
    assert (problem.end == -50).all()
    size = problem.size
    raw = torch.full((size, size), -16.0, dtype=torch.float64).triu(1) + torch.full((size, size), 14.0).tril(-1)
    expected = geometric_log_attention(raw)
    off_diagonal = ~torch.eye(size, dtype=torch.bool)
    torch.testing.assert_close(problem.jump[0][off_diagonal], expected[off_diagonal])


def test_distance_buckets_mirror_and_grow_with_distance():
    bucket = distance_bucket(torch.tensor([[0, 1, 2, 3, 4, 5, 8, 9, 50, 0]]))[0]
    middle = DISTANCE_BUCKETS // 2
    assert (bucket[0] - middle).tolist() == [0, 1, 2, 3, 3, 4, 4, 5, 5, 0]
    assert torch.equal(bucket - middle, middle - bucket.T)
