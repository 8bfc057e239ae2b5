"""The LSTM and the Transformer as parsers: trained, resumed, saved, loaded, and honest about n best."""

from __future__ import annotations

from pathlib import Path

import pytest

from permparse import Parser, load_recipe, train
from permparse.parsers.recipe import Recipe
from permparse.training.loop import Trainer

SMALL = [
    "encoder.hidden_size=16",
    "encoder.embedding_size=16",
    "encoder.layers=1",
    "decoder.hidden_size=16",
    "training.epochs=2",
    "training.batch=8",
]
KINDS = {
    "lstm": [*SMALL, "decoder.embedding_size=16"],
    "transformer": [*SMALL, "encoder.heads=2", "encoder.ff_size=16", "decoder.layers=1", "decoder.heads=2"],
}
PAIRS = [
    (f"Is {name} {verb} the {noun}?", f"{verb}({name},the({noun}))")
    for name in ("Ada", "Bo", "Cy")
    for verb in ("seeing", "making")
    for noun in ("cup", "dog", "key", "map")
]


def recipe_of(kind: str, folder: Path) -> Recipe:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{x}\t{y}\n" for x, y in PAIRS), encoding="utf-8")
    return load_recipe("tsv", [f"parser={kind}", f"data.options.train={str(path)!r}", *KINDS[kind]])


@pytest.fixture(scope="module", params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    train(recipe_of(request.param, folder), folder / "run", quiet=True)
    return folder / "run"


def stored(run: Path) -> bytes:
    return next((run / "parser").glob("network-*")).read_bytes()


def test_a_loaded_parser_parses_as_the_trained_one(run: Path, tmp_path: Path) -> None:
    parser = Parser.load(run)
    parser.save(tmp_path / "copy")
    sentences = ["Is Ada seeing the cup?", "Is Zoë making the key ?", "the the the"]
    assert Parser.load(tmp_path / "copy").parse(sentences, n_best=3) == parser.parse(sentences, n_best=3)


def test_outputs_are_put_back_as_they_were_cut(run: Path) -> None:
    parser = Parser.load(run)
    for sentence, output in PAIRS:
        example = parser.task.example(sentence, output)
        source = parser.codec.encode(example.source)
        ids = parser.codec.target(parser.gold_tokens(example), source)[:-1].tolist()
        assert parser.codec.words.output(parser.codec.output_tokens(ids, source)) == output


def test_the_n_best_are_different_and_ranked(run: Path) -> None:
    parse = Parser.load(run).parse("Is Bo making the map?", n_best=4)
    outputs = [alternative.output for alternative in parse.alternatives]
    scores = [alternative.log_score for alternative in parse.alternatives]
    assert outputs[0] == parse.output
    assert len(set(outputs)) == len(outputs) > 1
    assert scores == sorted(scores, reverse=True)
    assert 0 <= parse.confidence <= 1


def test_a_wider_beam_can_be_asked_for_when_a_parser_is_loaded(run: Path) -> None:
    narrow, wide = (Parser.load(run, beam=beam).parse("Is Bo making the map?") for beam in (1, 8))
    assert narrow.log_prob <= wide.log_prob + 1e-4  # sums of float32 in another order


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_training_ends_in_the_same_weights(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, save = recipe_of(kind, tmp_path), Trainer.save

    def save_and_stop(trainer: Trainer) -> None:
        save(trainer)
        raise KeyboardInterrupt

    train(recipe, tmp_path / "whole", quiet=True)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tmp_path / "broken", quiet=True)
    assert not (tmp_path / "broken" / "parser").exists()
    train(recipe, tmp_path / "broken", resume=True, quiet=True)
    assert stored(tmp_path / "broken") == stored(tmp_path / "whole")


def test_an_unknown_name_is_copied_by_an_lstm_that_has_learned_to(tmp_path: Path) -> None:
    names = [f"Name{a}{b}" for a in "bcdfghklmn" for b in "aeiou"]
    path = tmp_path / "names.tsv"
    path.write_text("".join(f"call {name} now\tcall({name})\n" for name in names))
    settings = [f"data.options.train={str(path)!r}", *KINDS["lstm"], "training.epochs=25", "training.lr=1e-2"]
    parser = train(load_recipe("tsv", ["parser=lstm", *settings]), tmp_path / "run", quiet=True)
    assert parser.parse("call Zachary now").output == "call(Zachary)"
