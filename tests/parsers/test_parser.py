"""The parser a user touches: what it returns, what it refuses, what it survives."""

import contextlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from permparse import Parse, Parser, UserError
from permparse.base.storage import load_folder, pack, save_folder, unpack
from permparse.nn import MultisetTagger
from permparse.parsers.multiset_permutation import order as ordering
from permparse.parsers.multiset_permutation.order import jump_problem, limited, order_decoder
from permparse.parsers.multiset_permutation.tag import tag
from permparse.permutation import BregmanSolver, JumpProblem, Temperature
from permparse.permutation.decoding import round_permutation

OLD = Path(__file__).with_name("parser-0.1")


@pytest.fixture(scope="module")
def parser(tiny_run: Path) -> Parser:
    return Parser.load(tiny_run)


def test_tokens_are_the_multisets_put_in_order(parser: Parser) -> None:
    parse = parser.parse("a b c d e")
    canonical = [token for multiset in parse.multisets for token in multiset]
    assert [canonical[i] for i in parse.order] == list(parse.tokens)
    assert sorted(parse.order) == list(range(len(canonical)))
    where = [i for i, multiset in enumerate(parse.multisets) for _ in multiset]
    assert [where[i] for i in parse.order] == list(parse.source_index)
    assert parse.output == " ".join(parse.tokens)
    assert 0 <= parse.confidence <= 1


def test_a_batch_gives_what_each_sentence_gives_alone(parser: Parser) -> None:
    sentences = ["a b c", "k j i h g f e d c b a", "b", "a b c"]
    together = parser.parse(sentences)
    alone = [parser.parse(sentence) for sentence in sentences]
    assert [p.output for p in together] == [p.output for p in alone]
    assert [p.sentence for p in together] == sentences
    assert [p.score for p in together] == pytest.approx([p.score for p in alone], abs=1e-4)


def test_an_empty_list_gives_an_empty_list(parser: Parser) -> None:
    assert parser.parse([]) == []


def test_saving_and_loading_changes_nothing(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "copy")
    copy = Parser.load(tmp_path / "copy")
    assert copy.parse("a b c d e", n_best=3) == parser.parse("a b c d e", n_best=3)
    assert copy.recipe == parser.recipe


def test_the_checkpoint_holds_only_text_and_safetensors(tiny_run: Path) -> None:
    suffixes = {path.suffix for path in (tiny_run / "parser").iterdir() if path.name != ".lock"}
    assert suffixes == {".json", ".toml", ".safetensors"}


def test_alternatives_are_distinct_and_begin_with_the_parse(parser: Parser) -> None:
    parse = parser.parse("a b c d", n_best=5)
    outputs = [alternative.output for alternative in parse.alternatives]
    assert outputs[0] == parse.output
    assert len(set(outputs)) == len(outputs) == 5
    scores = [alternative.log_score for alternative in parse.alternatives[1:]]
    assert scores == sorted(scores, reverse=True)


@torch.no_grad()
def test_the_hungarian_decoder_rounds_the_relaxed_permutation(tiny_run: Path) -> None:
    parser = Parser.load(tiny_run, decoder="hungarian")
    sentences = ["a b c d e", "k j i h g f", "a a b", "c"]
    encoded = [parser.codec.encode(sentence.split()) for sentence in sentences]
    tagged = [tagging.best for tagging in tag(parser.codec, parser.tagger, encoded)]
    solver = BregmanSolver(Temperature(), tolerance=1e-6, max_sweeps=3000)
    expected = []
    for source, t in zip(encoded, tagged, strict=True):
        problem = jump_problem(parser.scorer, [source], [t.multiset])
        expected += round_permutation(solver.solve(limited(problem, smooth=True)).log_u)
    parses = parser.parse(sentences, n_best=3)
    assert [list(parse.order) for parse in parses] == expected
    assert all(parse.alternatives[0].output == parse.output for parse in parses)
    searched = Parser.load(tiny_run).parse(sentences)
    assert all(a.score <= b.score + 1e-4 for a, b in zip(parses, searched, strict=True))  # float32 networks
    assert any(a.order != b.order for a, b in zip(parses, searched, strict=True))


@pytest.mark.parametrize("sweeps", [1, 700, 3000])
def test_the_hungarian_decoder_orders_whether_or_not_the_relaxation_converged(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch, sweeps: int
) -> None:
    monkeypatch.setattr(ordering, "ROUNDING_SWEEPS", sweeps)
    recipe = Parser.load(tiny_run, decoder="hungarian", sharpening=200.0).recipe
    generator = torch.Generator().manual_seed(0)
    problem = JumpProblem(*(60 * torch.randn(3, *shape, generator=generator) for shape in ((14,), (14, 14), (14,))))
    assert [sorted(found.order) for found in order_decoder(recipe)(problem)] == 3 * [list(range(14))]


def test_an_unknown_decoder_is_refused_in_words(tiny_run: Path) -> None:
    with pytest.raises(UserError, match="'decoder': input should be 'search', 'hungarian' or 'beam', got 'magic'"):
        Parser.load(tiny_run, decoder="magic")


def test_what_training_decided_cannot_be_changed_when_loading(tiny_run: Path) -> None:
    with pytest.raises(UserError, match="seed cannot be changed when a parser is loaded; valid: candidates, decoder"):
        Parser.load(tiny_run, seed=3)
    with pytest.raises(UserError, match="device = 'cuda': not available here"):
        Parser.load(tiny_run, device="cuda")


def test_a_parser_saved_before_a_setting_existed_still_loads(parser: Parser, tiny_run: Path, tmp_path: Path) -> None:
    files = load_folder(tiny_run / "parser", "parser")
    later = ("decoder =", "normalise =", "annotation =")
    lines = files["recipe.toml"].decode().splitlines()
    older = [line for line in lines if not line.startswith(later)]
    assert len(lines) - len(older) == len(later)
    save_folder(tmp_path / "old", "parser", {**files, "recipe.toml": "\n".join(older).encode()})
    assert Parser.load(tmp_path / "old").parse("a b c d e") == parser.parse("a b c d e")


def test_an_empty_multiset_gives_an_empty_output(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = MultisetTagger.forward
    monkeypatch.setattr(MultisetTagger, "forward", lambda *a: torch.full_like(forward(*a), -9.0))
    assert [p.output for p in parser.parse(["a b", "c"])] == ["", ""]


@pytest.mark.parametrize("sentence", ["", "   ", "\t\n"])
def test_an_empty_sentence_is_refused_in_words(parser: Parser, sentence: str) -> None:
    with pytest.raises(UserError, match="empty"):
        parser.parse(sentence)


@pytest.mark.parametrize("sentence", ["qwerty 😀 ΑΒΓ", "a" * 5000, "‏שלום‏", "a\u0301 b", "'\"\\ $(x) [/b]"])
def test_unknown_words_get_a_parse(parser: Parser, sentence: str) -> None:
    parse = parser.parse(sentence)
    assert Counter(t for m in parse.multisets for t in m).total() == len(parse.tokens)


def test_a_sentence_of_a_thousand_words_gets_a_parse(parser: Parser) -> None:
    parse = parser.parse(" ".join("abcdefghijk"[i % 11] for i in range(1000)))
    assert len(parse.words) == 1001


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused_in_words(parser: Parser, text: str) -> None:
    with contextlib.suppress(UserError):
        json.loads(parser.parse(text).to_json())


def test_damaged_unfinished_and_foreign_folders_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_run, copy)
    weights = next((copy / "parser").glob("tagger-*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00")
    with pytest.raises(UserError, match="damaged"):
        Parser.load(copy)
    shutil.rmtree(copy / "parser")
    with pytest.raises(UserError, match="has not finished; permparse train --resume"):
        Parser.load(copy)
    with pytest.raises(UserError, match="training state"):
        Parser.load(copy / "tag")
    with pytest.raises(UserError, match="no such folder"):
        Parser.load(tmp_path / "nowhere")


@pytest.mark.parametrize("wrong", [b"a b", None, 3, ["a", "b"]])
def test_what_is_no_text_is_refused_in_words(parser: Parser, wrong: object) -> None:
    with pytest.raises(UserError, match=f"expected a sentence as text, got {type(wrong).__name__}"):
        parser.parse(["a b", wrong])  # type: ignore[list-item]
    if not isinstance(wrong, list):
        with pytest.raises(UserError, match="expected a sentence or a list of sentences"):
            parser.parse(wrong)  # type: ignore[call-overload]


def test_one_bad_sentence_does_not_cost_the_others(parser: Parser) -> None:
    first, empty, last = parser.parse_each(["a b", "  ", "c"])
    assert isinstance(first, Parse)
    assert isinstance(last, Parse)
    assert "empty" in str(empty)
    with pytest.raises(UserError, match="sentence 2: the sentence is empty"):
        parser.parse(["a b", "  ", "c"])


def test_a_parser_says_what_it_is(parser: Parser) -> None:
    assert re.fullmatch(
        r"<MultisetPermutationParser of doubling, 14 words, 13 symbols, [\d,]+ \+ [\d,]+ parameters, on cpu>",
        repr(parser),
    )


def test_a_parser_of_version_0_1_loads_and_parses_alike() -> None:
    """Saved by the code before the rebuild: other keys in its recipe, other names of its weights."""
    parser = Parser.load(OLD)
    for known in json.loads((OLD / "expected.json").read_text()):
        parse = parser.parse(known["sentence"])
        assert parse.output == known["output"]
        assert list(parse.order) == known["order"]
        assert parse.score == pytest.approx(known["score"], abs=1e-4)
        assert parse.log_prob == pytest.approx(known["log_prob"], abs=1e-4)
        assert parse.confidence == pytest.approx(known["confidence"], abs=1e-6)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A parser as this version saves it."""
    Parser.load(OLD).save(tmp_path / "saved")
    return tmp_path / "saved"


def _rewritten(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file of a saved parser so that size and checksum agree: what someone who knows the format can do."""
    files = load_folder(folder, "parser")
    save_folder(folder, "parser", {**files, name: change(files[name])})


def test_a_vocabulary_belongs_to_its_weights(saved: Path) -> None:
    _rewritten(saved, "codec.json", lambda old: old.replace(b'"pilot", "gardener"', b'"gardener", "pilot"'))
    with pytest.raises(UserError, match="these weights were trained with another vocabulary"):
        Parser.load(saved)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("layers", "1000000000", "less than or equal to 100"),
        ("hidden_size", "16384", "has at least"),
        ("kind", '"subprocess:Popen"', "belongs to Python itself"),
        ("kind", '"permparse:Parser"', "expected a subclass of permparse.Encoder"),
        ("dropout", "nan", "finite number"),
    ],
)
def test_absurd_settings_of_a_saved_parser_are_refused_before_anything_is_built(
    saved: Path, setting: str, value: str, message: str
) -> None:
    def change(old: bytes) -> bytes:
        before, table, after = old.decode().partition("[tagger.encoder]")
        return (before + table + re.sub(rf"\n{setting} = .*", f"\n{setting} = {value}", after, count=1)).encode()

    _rewritten(saved, "recipe.toml", change)
    with pytest.raises(UserError, match=message):
        Parser.load(saved)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("calibration.json", b'{"weights": [1e999, 0, 0, 0], "bias": 0, "examples": 1}'),
        ("calibration.json", b'{"weights": "0000", "bias": 0, "examples": 1}'),
        ("calibration.json", b"["),
        ("codec.json", b'{"words": [1]}'),
        ("codec.json", b'{"words": ["\\u001b[2J"]}'),
        ("codec.json", b"{}"),
        ("codec.json", b"\xff"),
        ("tagger.safetensors", b"\xff" * 100),
        ("recipe.toml", b"a = " + b"[" * 100_000),
        ("recipe.toml", b"\xff"),
    ],
)
def test_files_that_no_parser_wrote_are_refused_in_words(saved: Path, name: str, content: bytes) -> None:
    _rewritten(saved, name, lambda _: content)
    with pytest.raises(UserError, match=str(saved)):
        Parser.load(saved)


def test_weights_that_overflow_are_noticed_and_not_served(saved: Path) -> None:
    files = load_folder(saved, "parser")
    huge = {name: tensor * 0 + 3e38 for name, tensor in unpack(files["tagger.safetensors"]).items()}
    _rewritten(saved, "tagger.safetensors", lambda _: pack(huge, files["codec.json"]))
    with pytest.raises(UserError, match="not finite"):
        Parser.load(saved).parse("a pilot slept")
