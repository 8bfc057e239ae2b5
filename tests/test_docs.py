"""The documentation is true: its code runs and prints what it shows, its links lead somewhere, what it names exists."""

import ast
import importlib
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import typer

from conftest import TINY
from permparse.base.settings import documentation
from permparse.cli import app, run
from permparse.parsers import load_recipe, recipe_names
from permparse.parsers.legacy import DROPPED, RENAMED, RETIRED
from permparse.parsers.multiset_permutation import proposals
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.parsers.registry import PARSERS, parser_class

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PRINTS = "# → "
"""Begins a comment that holds the next line that the code prints."""
FILE = re.compile(r"# (\w+)\.py\n")
"""Begins a block of code that is a file of the reader's own."""
SETTING = re.compile(r"(data|tagger|scorer|stage1|stage2)(\.[a-z0-9_]+)+")
ENTRY_POINTS = ("permparse.tasks", "permparse.encoders", "permparse.parsers")
FOLDERS = ("src/", "docs/", "tests/", "benchmarks/", "results/", "recipes/", ".ci/")


def _name(page: Path) -> str:
    return page.name


every_page = pytest.mark.parametrize("page", PAGES, ids=_name)


def _python(page: Path) -> Iterator[tuple[int, str]]:
    """The Python blocks of a page, each with the number of lines before it."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if block[1] == "python":
            yield text.count("\n", 0, block.start(2)), block[2]


def _inline(page: Path) -> set[str]:
    return set(INLINE.findall(FENCE.sub("", page.read_text(encoding="utf-8"))))


def _shell_lines(page: Path) -> list[str]:
    """Lines of indented or fenced blocks other than Python."""
    text = page.read_text(encoding="utf-8")
    fenced = [block[2] for block in FENCE.finditer(text) if block[1] != "python"]
    indented = [line[4:] for line in FENCE.sub("", text).splitlines() if line.startswith("    ")]
    return [line.strip().removeprefix("$ ") for line in "\n".join(fenced).splitlines() + indented]


def _commands(page: Path) -> Iterator[list[str]]:
    """The arguments of every `permparse ...` shown, up to a comment, pipe or redirection."""
    for text in [*_shell_lines(page), *_inline(page)]:
        if re.match(r"permparse( |$)", text):
            words = shlex.split(text, comments=True)[1:]
            end = next((i for i, word in enumerate(words) if word[0] in "|<>·"), len(words))
            yield words[:end]


def _overrides(command: list[str]) -> list[str]:
    return [value for flag, value in pairwise(command) if flag == "--set"]


def test_there_are_pages() -> None:
    assert {"index.md", "permutation.md", "README.md"} <= {page.name for page in PAGES}


@every_page
def test_code_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tiny_run: Path,
) -> None:
    blocks = list(_python(page))
    if not blocks:
        pytest.skip("no code")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    for steps, fewer in (("TRIAL_STEPS", 20), ("TAG_STEPS", 600), ("ORDER_STEPS", 200)):
        monkeypatch.setattr(proposals, steps, fewer)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "demo").symlink_to(tiny_run)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    try:
        for line, code in blocks:
            if file := FILE.match(code):
                (tmp_path / f"{file[1]}.py").write_text(code, encoding="utf-8")
                importlib.invalidate_caches()
            else:
                exec(compile("\n" * line + code, str(page), "exec"), module.__dict__)
                printed = iter(capsys.readouterr().out.splitlines())
                for shown in (row.removeprefix(PRINTS) for row in code.splitlines() if row.startswith(PRINTS)):
                    assert shown in printed, shown
    finally:
        for path in tmp_path.glob("*.py"):
            sys.modules.pop(path.stem, None)


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        found = page.parent / path if path else page
        assert found.exists(), target
        if anchor:
            assert anchor in _anchors(found), target


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reachable_from_the_first() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md", ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = LINK.findall(page.read_text(encoding="utf-8"))
        waiting += [(page.parent / t.partition("#")[0]).resolve() for t in links if not re.match(r"\w+:|#", t)]
    assert {page for page in PAGES if page.parent.name == "docs"} <= seen


@every_page
def test_named_files_modules_and_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for text in {*_inline(page), *_shell_lines(page)}:
        if text.startswith(FOLDERS) and re.fullmatch(r"[\w./-]+", text):
            assert (ROOT / text).exists(), text
        if script := re.match(r"python (\S+\.py)", text):
            assert (ROOT / script[1]).is_file(), text
        if target := re.match(r"make ([a-z]+)", text):
            assert target[1] in targets, text
        if re.fullmatch(r"permparse(\.\w+)+", text) and text not in ENTRY_POINTS:
            _resolve(text)


@every_page
def test_named_tests_exist(page: Path) -> None:
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).is_file(), path
        assert not name or name in _definitions(ROOT / path), f"{path}::{name}"


def _resolve(name: str) -> object:
    """The module of that dotted name, or what a module holds under it."""
    if importlib.util.find_spec(name.rpartition(".")[0]) is not None:
        parent, _, last = name.rpartition(".")
        holder = importlib.import_module(parent)
        return getattr(holder, last) if hasattr(holder, last) else importlib.import_module(name)
    first, *rest = name.split(".")
    return reduce(getattr, rest, importlib.import_module(first))


@every_page
def test_commands_are_understood(page: Path) -> None:
    group = typer.main.get_command(app)
    for arguments in _commands(page):
        try:
            with group.make_context("permparse", list(arguments)) as context:
                rest = [*context._protected_args, *context.args]
                if rest:
                    name, command, rest = group.resolve_command(context, rest)
                    command.make_context(name, rest, parent=context)
        except Exception as error:
            # Asking for help, for nothing, or for Ray where there is none, ends the parsing; anything else is a command
            # that does not exist.
            if type(error).__name__ not in ("Exit", "NoArgsIsHelpError") and "needs Ray" not in str(error):
                raise AssertionError(f"permparse {shlex.join(arguments)}: {error}") from error


@every_page
def test_settings_exist(page: Path) -> None:
    known = {key for name in PARSERS for key, _, _ in documentation(parser_class(name).recipe_class)}
    if page.name == "CHANGELOG.md":
        known |= {*RENAMED, *RETIRED, *DROPPED}
    for text in _inline(page):
        key = text.partition("=")[0]
        if SETTING.fullmatch(key):
            tables = {name.rpartition(".")[0] for name in known}
            assert key in known | tables or key.startswith("data.options"), text
    for command in _commands(page):
        if command[:1] == ["train"] and len(command) > 1 and command[1] in recipe_names():
            load_recipe(command[1], _overrides(command))


def test_the_changelog_names_every_renamed_and_retired_setting() -> None:
    text = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    for key in {*RENAMED, *RETIRED, *DROPPED}:
        assert f"`{key}`" in text or f"`{key.rpartition('.')[2]}`" in text, key
    assert f"There are {len(documentation(MultisetPermutationRecipe))} settings" in text


def test_the_functions_of_the_walks_exist() -> None:
    page = ROOT / "docs" / "where-to-enter-the-code.md"
    named = re.findall(r"\]\(([\w./]+\.py)\)\s+`([\w.]+)`", page.read_text(encoding="utf-8"))
    assert len(named) >= 19
    for path, name in named:
        assert name in _definitions(page.parent / path), f"{path}: {name}"


def _definitions(path: Path) -> set[str]:
    """Functions and classes of a file, and the methods of its classes as Class.method."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return found


def test_the_walks_have_at_most_ten_steps() -> None:
    text = (ROOT / "docs" / "where-to-enter-the-code.md").read_text(encoding="utf-8")
    steps = [len(re.findall(r"^\d+\. ", section, re.MULTILINE)) for section in text.split("\n## ")]
    assert [number for number in steps if number] == [10, 9]


def test_the_picture_of_imports_is_that_of_the_source() -> None:
    script = _script(ROOT / "docs" / "import_graph.py")
    graph = script.read_graph()
    assert script.PICTURE.read_text(encoding="utf-8") == script.as_svg(graph), "run: python docs/import_graph.py"
    assert script.as_text(graph).splitlines()[0].startswith("cli ")


def test_a_circle_of_imports_is_refused() -> None:
    script = _script(ROOT / "docs" / "import_graph.py")
    graph = script.read_graph()
    graph["base"].add("cli")
    with pytest.raises(SystemExit, match="circle"):
        script.layers(graph)


def _script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_own_data_works_from_file_to_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "own-data.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    exec(next(_python(page))[1], {})
    shown = [shlex.split(line)[1:] for line in _shell_lines(page) if line.startswith("permparse ")]
    assert {command[0] for command in shown} == {"train", "evaluate", "notation", "parse"}
    small = [part for setting in [*TINY, "adapt=false", "data.notation=full"] for part in ("--set", setting)]
    for command in shown:
        assert run([*command, "--quiet", *small] if command[0] == "train" else command) == 0


def test_the_example_without_language_runs(tmp_path: Path) -> None:
    reconstruct = _script(ROOT / "docs" / "examples" / "reconstruct.py")
    scorer = reconstruct.train(steps=3)
    reconstruct.draw(scorer, tmp_path / "picture.png", strips=6)
    assert (tmp_path / "picture.png").stat().st_size > 1000
