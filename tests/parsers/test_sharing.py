"""Sharing: a parser packaged, installed or uploaded is the parser that was trained."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from permparse import Parser, UserError
from permparse.cli import run
from permparse.parsers.sharing.archive import write_file, write_wheel
from permparse.parsers.sharing.card import model_card
from permparse.parsers.sharing.sources import boxed_names

SENTENCE = "Ines gave a bell to Dora ."


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as training leaves it."""
    folder = tmp_path_factory.mktemp("runs") / "mine"
    Parser.load("fragment").save(folder / "parser")
    summary = {"task": "fragment", "seed": 0, "stages": {"tag": {"seconds": 61.5}}, "data": "0123456789abcdef"}
    (folder / "run.json").write_text(json.dumps(summary))
    return folder


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_box_holds_a_small_parser_that_handles_deep_sentences() -> None:
    import permparse

    assert boxed_names() == ["fragment"]
    assert _size(Path(permparse.__file__).parent / "models") < 2 * 2**20
    parser = Parser.load("fragment")
    examples = [example for split in ("test", "cp-4", "pp-4") for example in parser.task.load(split)[:40]]
    right = [
        parse.output == example.output
        for parse, example in zip(parser.parse([e.sentence for e in examples]), examples, strict=True)
    ]
    assert sum(right) >= 0.95 * len(right)


def test_a_folder_of_the_user_wins_over_the_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fragment").mkdir()
    with pytest.raises(UserError, match="found no manifest"):
        Parser.load("fragment")


def test_a_wrong_name_is_told_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'fragment'"):
        Parser.load("fragmemt")


def test_a_packaged_file_is_the_parser(tmp_path: Path, trained: Path) -> None:
    parser = Parser.load(trained)
    for name in ("one.permparse", "two.permparse"):
        write_file(parser, model_card(parser, "tiny", trained), tmp_path / name)
    assert (tmp_path / "one.permparse").read_bytes() == (tmp_path / "two.permparse").read_bytes()
    loaded = Parser.load(tmp_path / "one.permparse")
    assert loaded.parse(SENTENCE) == parser.parse(SENTENCE)


def test_a_damaged_or_foreign_file_is_refused_in_words(tmp_path: Path, trained: Path) -> None:
    path = tmp_path / "some.permparse"
    parser = Parser.load(trained)
    write_file(parser, "", path)
    whole = path.read_bytes()
    for content in (b"", b"not a zip", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"some\.permparse"):
            Parser.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../escape.json", "{}")
    with pytest.raises(UserError, match="without folders"):
        Parser.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(UserError, match=r"some\.permparse") as caught:
        Parser.load(path)
    assert "/tmp/permparse-" not in str(caught.value)


def test_a_wheel_installs_and_is_loaded_by_name(tmp_path: Path, trained: Path) -> None:
    parser = Parser.load(trained)
    wheel = write_wheel(parser, "card", "my-parser", "1.0", tmp_path)
    # What pip does with a wheel, without the network: unpack it into a folder of the path.
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        f"import sys; sys.path.append({str(tmp_path / 'site')!r}); from permparse import Parser; "
        f"print(Parser.load('my-parser').parse({SENTENCE!r}).output)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == parser.parse(SENTENCE).output, done.stderr
    with pytest.raises(UserError, match="small letters"):
        write_wheel(parser, "card", "My Parser", "1.0", tmp_path)
    with pytest.raises(UserError, match="version"):
        write_wheel(parser, "card", "my-parser", "new", tmp_path)


def test_the_record_of_a_wheel_is_right(tmp_path: Path, trained: Path) -> None:
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    with zipfile.ZipFile(write_wheel(Parser.load(trained), "card", "my", "1.0", tmp_path)) as archive:
        record = archive.read("permparse_model_my-1.0.dist-info/RECORD").decode().split()
        for line in record[:-1]:
            name, digest, size = line.split(",")
            content = archive.read(name)
            assert digest == "sha256=" + urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()
            assert int(size) == len(content)
        assert {line.split(",")[0] for line in record} == set(archive.namelist())


def test_the_card_is_filled_from_the_run_and_its_evaluation(tmp_path: Path, trained: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["evaluate", str(trained), "--split", "test", "--limit", "20"]) == 0
    saved = next((tmp_path / "results").glob("*.json"))
    capsys.readouterr()
    assert run(["package", str(trained), "--name", "bells", "--evaluation", str(saved), "--licence", "mit"]) == 0
    assert capsys.readouterr().out.strip() == "bells.permparse"
    with zipfile.ZipFile("bells.permparse") as archive:
        card = archive.read("README.md").decode()
        recipe = next(archive.read(name).decode() for name in archive.namelist() if name.startswith("recipe"))
    total = json.loads(saved.read_text())["total"]["metrics"]["exact"]
    assert f"{100 * total:.1f}" in card
    assert "license: mit" in card
    assert "0123456789abcdef" in card
    assert str(tmp_path.parent) not in card + recipe


def test_package_reports_mistakes_in_words(tmp_path: Path, trained: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.json").write_text("[]")
    assert run(["package", str(trained), "--evaluation", "wrong.json"]) == 2
    assert "wrong.json" in capsys.readouterr().err
    assert run(["package", "nowhere"]) == 2
