"""Recombined examples of a trained parser: right ones, stages that train with them, and a resumed run that agrees."""

from pathlib import Path

import pytest

from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.parsers.multiset_permutation.recombine import aligned, recombined_examples
from permparse.parsers.multiset_permutation.stages import tag_data
from permparse.parsers.recipe import load_recipe
from permparse.training.loop import Trainer
from permparse.training.run import train

NAMES, NOUNS = ("Emma", "Liam", "Noah", "Ava"), ("cake", "ball", "cup", "box")
VERBS = {"saw": "see", "liked": "like", "held": "hold"}


def sentence(subject: str, verb: str, thing: str, place: str = "") -> str:
    words = f"{subject} {verb} the {thing}" + (f" on a {place}" if place else "")
    output = f"{VERBS[verb]} ( {subject} , {thing}" + (f" ( on {place} ) )" if place else " )")
    return f"{words}\t{output}\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Phrases with a place are never those of a subject, and few are in training."""
    folder = tmp_path_factory.mktemp("recombine")
    lines = [sentence(name, verb, noun) for name in NAMES for verb in VERBS for noun in NOUNS]
    lines += [sentence("Emma", verb, noun, place) for verb in VERBS for noun in NOUNS for place in ("shelf", "bed")]
    (folder / "my.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


def recipe(folder: Path, share: float = 1.0, epochs: int = 12) -> MultisetPermutationRecipe:
    settings = (
        "adapt=false",
        "candidates=1",
        f"data.options.train={folder / 'my.tsv'}",
        "data.notation=full",
        "data.min_count=1",
        "tagger.hints.kind=auto",
        "tagger.hints.epochs=100",
        "tagger.encoder.hidden_size=32",
        f"tagger.training.epochs={epochs}",
        "tagger.training.lr=0.01",
        "scorer.training.epochs=4",
        f"recombined={share}",
    )
    found = load_recipe("tsv", settings)
    assert isinstance(found, MultisetPermutationRecipe)
    return found


@pytest.fixture(scope="module")
def parser(run: Path) -> MultisetPermutationParser:
    trained = train(recipe(run), run / "both", quiet=True)
    assert isinstance(trained, MultisetPermutationParser)
    return trained


def test_made_examples_are_right_and_the_run_trains_with_them(run: Path, parser: MultisetPermutationParser) -> None:
    assert [(run / "both" / name).is_dir() for name in ("tag", "order", "tag-again", "order-again")] == [True] * 4
    examples = parser.task.load("train")
    data = tag_data(parser.codec, examples, parser.recipe.tagger)
    for of in aligned(parser.codec, parser.tagger, parser.scorer, data):
        said = [(token, of.words[i]) for token, i in zip(of.tokens, of.positions, strict=True) if token in of.words]
        assert said
        assert all(token == word for token, word in said)
    made = recombined_examples(parser.codec, parser.tagger, parser.scorer, data, 40, seed=1)
    known = {example.sentence for example in examples}
    assert made
    assert not known & {example.sentence for example in made}
    for example in made:
        words = example.sentence.split()
        if len(words) in (4, 7):  # a place at a place is new, and may be written in more than one way
            place = words[6] if len(words) == 7 else ""
            assert f"{example.sentence}\t{example.output}\n" == sentence(words[0], words[1], words[3], place)


def test_no_share_trains_no_further(run: Path) -> None:
    train(recipe(run, share=0), run / "plain", quiet=True)
    assert not (run / "plain" / "tag-again").exists()


def test_what_is_not_yet_learned_is_not_recombined(run: Path) -> None:
    train(recipe(run, epochs=1), run / "few", quiet=True)
    assert (run / "few" / "order").is_dir()
    assert not (run / "few" / "tag-again").exists()


@pytest.mark.parametrize("stage", ["tag-again", "order-again"])
def test_a_run_that_is_resumed_in_a_later_stage_ends_in_the_same_weights(
    run: Path, parser: MultisetPermutationParser, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer._step

    def stopped(self: Trainer, *arguments: object) -> None:
        if self.stage.name == stage and self.position.step == 2:
            raise KeyboardInterrupt
        step(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "_step", stopped)
    with pytest.raises(KeyboardInterrupt):
        train(recipe(run), run / f"part-{stage}", quiet=True)
    monkeypatch.undo()
    resumed = train(recipe(run), run / f"part-{stage}", resume=True, quiet=True)
    for name, network in parser.networks.items():
        other = resumed.networks[name].state_dict()
        assert all((tensor == other[key]).all() for key, tensor in network.state_dict().items())
    assert isinstance(resumed, MultisetPermutationParser)
    assert resumed.codec.trigrams.to_json() == parser.codec.trigrams.to_json()


def test_recombined_structures_read_well(run: Path, parser: MultisetPermutationParser) -> None:
    examples = parser.task.load("train")
    data = tag_data(parser.codec, examples, parser.recipe.tagger)
    made = recombined_examples(parser.codec, parser.tagger, parser.scorer, data, 40, seed=1)
    before = parser.codec.expecting(examples)
    surprise = [
        [codec.trigrams.surprise(codec.pattern(codec.target(of), codec.encode(of.source))) for of in made]
        for codec in (before, before.expecting([*examples, *made]), parser.codec)
    ]
    assert max(surprise[0]) > 0
    assert sum(surprise[1]) < sum(surprise[0])
    assert sum(surprise[2]) < sum(surprise[0])
