"""Dependencies point one way, heavy libraries stay lazy, and nothing is pickled: held by reading the source."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import permparse

ROOT = Path(__file__).parents[1] / "src" / "permparse"
MODULES = sorted(ROOT.rglob("*.py"))

MAY_USE = {
    "base": set(),
    "drawing": set(),
    "permutation": {"drawing"},
    "multiset": set(),
    "text": {"base"},
    "tasks": {"base", "text"},
    "nn": {"base", "permutation", "multiset"},
    "parsers": {"base", "drawing", "permutation", "multiset", "text", "tasks", "nn"},
    "training": {"base", "text", "tasks", "parsers"},
    "evaluation": {"base", "text", "tasks", "parsers"},
    "executors": {"base"},
    "bulk": {"base", "executors", "parsers"},
    "experiments": {"base", "executors", "parsers", "training", "evaluation"},
    "service": {"base", "parsers"},
    "integrations": {"base", "nn", "parsers"},
    "cli": {
        "base",
        "drawing",
        "permutation",
        "text",
        "tasks",
        "parsers",
        "training",
        "evaluation",
        "executors",
        "bulk",
        "experiments",
        "service",
    },
}
"""What a part of the package may import besides itself, with no exception."""

LAYER_ALONE = {"torch", "numpy", "scipy", "numba", "jaxtyping"}
OPTIONAL = {
    "spacy",
    "matplotlib",
    "ortools",
    "tensorboard",
    "transformers",
    "huggingface_hub",
    "onnx",
    "onnxruntime",
    "ray",
    "optuna",
}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _part(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[str]:
    """Full names of everything that is imported anywhere in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: expected absolute imports"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _imports_at_load(tree: ast.Module) -> Iterator[str]:
    """Full names of what is imported when the module is, type checking aside."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)


def _parts_used(path: Path) -> set[str]:
    names = (name.split(".") for name in _imports(_tree(path)))
    used = {name[1] for name in names if name[0] == "permparse" and len(name) > 1}
    return {part for part in used if part != "__version__"} - {_part(path)}


@pytest.mark.parametrize("path", [path for path in MODULES if len(path.relative_to(ROOT).parts) > 1], ids=_name)
def test_imports_point_one_way(path: Path) -> None:
    assert _parts_used(path) <= MAY_USE[_part(path)]


def test_the_front_door_is_lazy_and_all_else_is_in_a_part() -> None:
    assert {path.name for path in MODULES if len(path.relative_to(ROOT).parts) == 1} == {"__init__.py", "__main__.py"}
    program = "import sys, permparse; print(sorted(set(sys.modules) & {'torch', 'numpy', 'pydantic', 'typer'}))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
    for name in permparse.__all__:
        assert getattr(permparse, name).__name__ == name


def test_the_permutation_layer_stands_alone() -> None:
    for path in MODULES:
        if _part(path) == "permutation":
            outside = {name.split(".")[0] for name in _imports_at_load(_tree(path))} - sys.stdlib_module_names
            assert outside - {"permparse"} <= LAYER_ALONE, _name(path)


def test_tasks_and_text_need_no_torch() -> None:
    for path in MODULES:
        if _part(path) in ("text", "tasks"):
            assert "torch" not in {name.split(".")[0] for name in _imports(_tree(path))}, _name(path)


def test_optional_libraries_are_imported_where_they_are_used() -> None:
    for path in MODULES:
        assert not OPTIONAL & {name.split(".")[0] for name in _imports_at_load(_tree(path))}, _name(path)


def test_what_only_training_and_comparing_need_is_imported_there() -> None:
    """SciPy takes a quarter of a second to load, which a parse would have to wait for."""
    for path in MODULES:
        assert "scipy" not in {name.split(".")[0] for name in _imports_at_load(_tree(path))}, _name(path)


def test_nothing_is_pickled() -> None:
    unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    for path in MODULES:
        assert not unsafe & {name.split(".")[0] for name in _imports(_tree(path))}, _name(path)
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                called = f"{node.value.id}.{node.attr}"
                assert called not in {"torch.load", "torch.save", "np.load", "np.save"}, f"{_name(path)}:{node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_file_says_what_it_is_for_and_stays_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 450
    assert not text.strip() or ast.get_docstring(_tree(path))
