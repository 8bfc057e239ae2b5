"""A parser with pretrained encoders: trained, resumed, saved and moved to where neither hub nor folder is."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="needs the extra `pretrained`: pip install 'permparse[pretrained]'")

from nn.tiny_models import save_tiny_model
from permparse import Parser, UserError, load_recipe, train
from permparse.parsers.recipe import Recipe

SENTENCES = ["a b c", "k j i h g", "b"]


def tiny(folder: Path, trained_layers: str | None) -> Recipe:
    layers = [] if trained_layers is None else [f"trained_layers={trained_layers}"]
    settings = ["kind=pretrained", f"model={folder}", "lr=1e-4", *layers]
    return load_recipe(
        "doubling",
        [
            "data.train_examples=40",
            "scorer.ff_size=16",
            *(f"{name}.encoder.{setting}" for name in ("tagger", "scorer") for setting in settings),
            *(f"{name}.training.epochs=1" for name in ("tagger", "scorer")),
        ],
    )


def test_a_resumed_run_refuses_another_encoder_in_the_place_of_its_own(tmp_path: Path) -> None:
    model = save_tiny_model("roberta", tmp_path / "model")
    recipe = tiny(model, "0")
    train(recipe, tmp_path / "run", quiet=True)
    shutil.rmtree(model)
    save_tiny_model("bert", model)
    with pytest.raises(UserError, match="has changed since this run began"):
        train(recipe, tmp_path / "run", resume=True, quiet=True)


@pytest.mark.parametrize("trained_layers", [None, "0", "1"])
def test_a_saved_parser_needs_neither_hub_nor_folder(tmp_path: Path, trained_layers: str | None) -> None:
    model = save_tiny_model("roberta", tmp_path / "model")
    parser = train(tiny(model, trained_layers), tmp_path / "run", quiet=True)
    expected = parser.parse(SENTENCES)
    shutil.move(tmp_path / "run" / "parser", tmp_path / "elsewhere")
    shutil.rmtree(model)
    again = Parser.load(tmp_path / "elsewhere")
    assert again.parse(SENTENCES) == expected
    again.save(tmp_path / "copy")
    assert Parser.load(tmp_path / "copy").parse(SENTENCES) == expected
    shared = list((tmp_path / "elsewhere").glob("*pretrained_weights*"))
    assert len(shared) == (1 if trained_layers == "0" else 0)  # both networks have the same, which is kept once
