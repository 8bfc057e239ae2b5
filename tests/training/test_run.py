"""A whole training: what its settings change, and what they leave alone."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import TINY
from permparse.base.errors import UserError
from permparse.base.locks import locked
from permparse.cli import run
from permparse.parsers import Parser
from permparse.parsers.recipe import Recipe, load_recipe
from permparse.training.loop import Trainer
from permparse.training.run import train


def second_stage_again(run: Path, copy: Path, setting: str) -> Path:
    """A copy of a run whose scorer is trained again with another setting, from the same tagger."""
    shutil.copytree(run, copy)
    for part in ("order", "parser"):
        shutil.rmtree(copy / part)
    for record in ("log.jsonl", "conditions.json"):
        (copy / record).unlink()
    recipe = load_recipe(str(copy / "recipe.toml"), [setting])
    (copy / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    train(recipe, copy, resume=True, quiet=True)
    return copy


def weights(run: Path) -> bytes:
    return next((run / "parser").glob("scorer-*")).read_bytes()


def test_the_decoder_does_not_change_what_is_learned(tiny_run: Path, tmp_path: Path) -> None:
    assert weights(second_stage_again(tiny_run, tmp_path / "copy", "decoder=hungarian")) == weights(tiny_run)


def test_dropping_annotation_trains_on_the_rightly_tagged_examples_only(tiny_run: Path, tmp_path: Path) -> None:
    dropped = second_stage_again(tiny_run, tmp_path / "copy", "scorer.training.annotation=drop")
    summary = json.loads((dropped / "run.json").read_text())
    records = [json.loads(line) for line in (dropped / "log.jsonl").read_text().splitlines()]
    figures = summary["figures"]
    stage = next(record for record in records if record["event"] == "stage" and record["stage"] == "order")
    assert 0 < stage["paper_would_drop"] == figures["paper_would_drop"]
    assert stage["annotated"] == figures["examples"] - figures["paper_would_drop"]
    assert weights(dropped) != weights(tiny_run)


VECTORS = ["tagger.encoder.vectors=vectors.txt", "scorer.encoder.vectors=vectors.txt"]


def interrupted_while_ordering(recipe: Recipe, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that Ctrl-C stops right after the first checkpoint of the scorer."""
    save = Trainer.save

    def save_and_stop(trainer: Trainer) -> None:
        save(trainer)
        if trainer.stage.name == "order":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, folder, quiet=True)


def write_vectors(path: Path, words: str, size: int = 16) -> np.ndarray:
    given = np.random.default_rng(0).normal(size=(len(words), size)).astype(np.float32)
    rows = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, given, strict=True))
    path.write_text("".join(rows))
    return given


@pytest.mark.parametrize("freeze", ["false", "true"])
def test_a_resumed_run_gives_the_same_with_given_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, freeze: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = write_vectors(tmp_path / "vectors.txt", "abcdefghijkz")
    freezing = [f"{name}.encoder.freeze_vectors={freeze}" for name in ("tagger", "scorer")]
    recipe = load_recipe("doubling", [*TINY, *VECTORS, "tagger.training.epochs=1", *freezing])
    interrupted_while_ordering(recipe, tmp_path / "stopped", monkeypatch)
    whole = train(recipe, tmp_path / "whole", quiet=True)
    resumed = train(recipe, tmp_path / "stopped", resume=True, quiet=True)
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    ids = whole.codec.words.ids("abcdefghijk")
    for network in (Parser.load(tmp_path / "whole").tagger, resumed.scorer):
        kept = torch.equal(network.encoder.words.weight[ids], torch.from_numpy(given[:11]))
        assert kept is (freeze == "true")
    events = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    told = [e["line"] for e in events if e["event"] == "initialised"]
    for stage, line in zip(("tag", "order"), told, strict=True):
        found, _, kept = line.partition("; ")
        assert re.fullmatch(rf"{stage}: vectors of 11 of 11 words \(100\.0% of the training text\)", found), line
        assert kept == "the parser carries those of 1 others"


def test_a_wrong_file_of_vectors_stops_a_run_before_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a 0.5 0.5\nb 0.5\n")
    for setting in ("tagger.encoder.vectors", "scorer.encoder.vectors", "scorer.symbol_vectors"):
        recipe = load_recipe("doubling", [*TINY, f"{setting}={path}"])
        with pytest.raises(UserError, match=r"vectors\.txt:2: expected a word and 2 numbers"):
            train(recipe, tmp_path / "run", quiet=True)
    path.write_text("Haus 0.5 0.5\n")
    with pytest.raises(UserError, match="has a vector for none of the 11 words of the vocabulary"):
        train(load_recipe("doubling", [*TINY, f"tagger.encoder.vectors={path}"]), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_dropping_every_example_is_said_in_words(tmp_path: Path) -> None:
    recipe = load_recipe("doubling", [*TINY, "tagger.training.epochs=0", "scorer.training.annotation=drop"])
    with pytest.raises(UserError, match="the tagger gives none of 160 its gold multiset; train it longer"):
        train(recipe, tmp_path / "run", quiet=True)


def test_empty_outputs_are_learned_like_others(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    folder = tmp_path / "okapi" / "document"
    folder.mkdir(parents=True)
    lines = "all files\tGET drive.root.children\n" * 8 + "how many files\tGET drive.root.children COUNT\n" * 4
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text(lines, encoding="utf-8")
    few = [f"{network}.training.{key}" for network in ("tagger", "scorer") for key in ("epochs=3", "batch=4")]
    settings = [f"data.folder={tmp_path}", *few]
    parser = train(load_recipe("okapi-document", [*settings, "tagger.training.lr=1e-2"]), tmp_path / "run", quiet=True)
    assert parser.parse("how many files").output.startswith("GET drive.root.children")


def _begun(folder: Path, monkeypatch: pytest.MonkeyPatch, *settings: str) -> None:
    """A run that was interrupted while it learned to order."""
    quick = [*TINY, "tagger.training.epochs=1", *settings]
    interrupted_while_ordering(load_recipe("doubling", quick), folder, monkeypatch)


def test_an_edited_recipe_is_refused_by_the_name_of_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    _begun(folder, monkeypatch)
    recipe = folder / "recipe.toml"
    text = recipe.read_text()
    recipe.write_text(text.replace("lr = 0.01", "lr = 0.02"))
    with pytest.raises(UserError, match=r"tagger\.training\.lr is 0\.02, but this run began with 0\.01; put it back"):
        train("doubling", folder, resume=True, quiet=True)
    recipe.write_text(text.replace('decoder = "search"', 'decoder = "hungarian"'))  # which training does not depend on
    assert train("doubling", folder, resume=True, quiet=True).recipe.decoder == "hungarian"


def test_a_resumed_run_keeps_its_number_of_threads_and_tells_of_another_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    _begun(folder, monkeypatch)
    record = folder / "conditions.json"
    known = json.loads(record.read_text())
    assert known["threads"] == torch.get_num_threads()
    record.write_text(json.dumps({**known, "threads": known["threads"] + 1, "torch": "1.8.0"}))
    try:
        train("doubling", folder, resume=True, quiet=True)
        assert torch.get_num_threads() == known["threads"] + 1
    finally:
        torch.set_num_threads(known["threads"])
    said = capsys.readouterr().err
    assert f"began with {known['threads'] + 1} threads and goes on with them" in said
    assert "began with torch 1.8.0" in said


def test_other_vectors_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {' '.join('1' * 16)}\n" for word in "abcdefghijk"))
    recipe = load_recipe("doubling", [*TINY, "tagger.training.epochs=1", f"scorer.encoder.vectors={str(vectors)!r}"])

    def stop(trainer: Trainer, progress: object) -> None:
        trainer.save()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "fit", stop)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tmp_path / "run", quiet=True)
    vectors.write_text(vectors.read_text().replace("1", "2"))
    with pytest.raises(UserError, match=r"vectors\.txt: has changed since this run began"):
        train(recipe, tmp_path / "run", resume=True, quiet=True)


def _interrupted(recipe: Recipe, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was interrupted after the first checkpoint of its last stage."""

    def stop(trainer: Trainer, *rest: object) -> None:
        fit(trainer, *rest)
        if trainer.stage.name in ("order", "translate"):
            raise KeyboardInterrupt

    fit = Trainer.fit
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "fit", stop)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, folder, quiet=True)


LSTM = ["data.train_examples=40", "encoder.hidden_size=16", "encoder.vectors=vectors.txt", "training.epochs=1"]


@pytest.mark.parametrize(("name", "settings"), [("doubling", [*TINY, *VECTORS]), ("lstm-doubling", LSTM)])
def test_vectors_are_checked_when_all_stages_have_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: list[str]
) -> None:
    """They still say which words have a vector of their own, and what unknown words are known by."""
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "vectors.txt", "abcdefghijkz")
    recipe = load_recipe(name, settings)
    _interrupted(recipe, tmp_path / "run", monkeypatch)
    text = Path("vectors.txt").read_text()
    Path("vectors.txt").write_text(text.replace("z ", "y "))
    with pytest.raises(UserError, match=r"vectors\.txt: has changed since this run began"):
        train(recipe, tmp_path / "run", resume=True, quiet=True)
    Path("vectors.txt").write_text(text)
    train(recipe, tmp_path / "run", resume=True, quiet=True)


def test_other_rules_of_a_notation_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    verbs, names = ("play", "stop", "find"), ("adele", "sting", "cher", "prince")
    Path("songs.tsv").write_text("".join(f"{v} {n}\tdo_{v} ( song , {n} )\n" for v in verbs for n in names))
    assert run(["notation", "songs.tsv", "-o", "rules.json"]) == 0
    recipe = load_recipe("tsv", ["data.options.train='songs.tsv'", "data.notation='rules.json'", *TINY, "adapt=false"])
    _interrupted(recipe, tmp_path / "run", monkeypatch)
    Path("rules.json").write_text(Path("rules.json").read_text() + "\n")
    with pytest.raises(UserError, match=r"rules\.json: has changed since this run began"):
        train(recipe, tmp_path / "run", resume=True, quiet=True)


DAMAGE = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe{",
    "null": b"null",
    "a list": b"[]",
    "an empty object": b"{}",
    "nested deeply": b"[" * 200_000,
    "a folder": None,
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "begun"
    with pytest.MonkeyPatch.context() as patch:
        _begun(folder, patch)
    return folder


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["conditions.json", "data.json", "recipe.toml", "order/manifest.json", "log.jsonl"])
def test_a_damaged_run_is_refused_in_words(begun: Path, tmp_path: Path, name: str, damage: str) -> None:
    shutil.copytree(begun, tmp_path / "run")
    damaged, content = tmp_path / "run" / name, DAMAGE[damage]
    damaged.unlink()
    if content is None:
        damaged.mkdir()
    else:
        damaged.write_bytes(content)
    if name == "log.jsonl" and content is not None:  # which nothing is read from
        train("doubling", tmp_path / "run", resume=True, quiet=True)
    else:
        with pytest.raises(UserError, match=re.escape(str(damaged.parent))):
            train("doubling", tmp_path / "run", resume=True, quiet=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
@pytest.mark.parametrize("name", ["conditions.json", "data.json", "recipe.toml", "log.jsonl"])
def test_no_reader_of_a_pipe_is_waited_for(begun: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(begun, tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    with pytest.raises(UserError, match=name):
        train("doubling", tmp_path / "run", resume=True, quiet=True)


def test_two_trainings_in_one_folder_are_refused(tmp_path: Path) -> None:
    recipe = load_recipe("doubling", TINY)
    with locked(tmp_path / "run", "busy"), pytest.raises(UserError, match="another training is at work here"):
        train(recipe, tmp_path / "run", quiet=True)


def test_scratch_files_of_a_killed_run_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    _begun(folder, monkeypatch)
    (folder / "recipe.toml.1.part").write_text("half")
    (folder / "tag.part").mkdir()
    (folder / "holiday.part").write_text("mine")
    train("doubling", folder, resume=True, quiet=True)
    assert [path.name for path in folder.rglob("*.part")] == ["holiday.part"]
