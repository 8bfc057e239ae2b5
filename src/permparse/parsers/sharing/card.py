"""The model card of a parser: what it was trained on, how good it is, and how to use it, filled from its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from permparse import __version__
from permparse.base.errors import UserError
from permparse.base.reading import table_in

if TYPE_CHECKING:
    from permparse.parsers.base import Parser

RUN_FILE = "run.json"


def model_card(
    parser: Parser, name: str, run: Path | None = None, evaluations: Sequence[Path] = (), licence: str = ""
) -> str:
    """The card as Markdown with the header that Hugging Face reads. ``evaluations`` are files that `permparse evaluate`
    saved; a licence is stated only if given."""
    header = ["library_name: permparse", "pipeline_tag: text-generation", "tags:", "- semantic-parsing"]
    if licence:
        header.insert(0, f"license: {licence}")
    parts = [
        "---\n" + "\n".join(header) + "\n---",
        f"# {name}",
        "Turns sentences into structured output: every word is tagged with a multiset of tokens, and jumps put them in "
        "order. Made with permparse.",
        _facts(parser, _read(run / RUN_FILE) if run is not None and (run / RUN_FILE).is_file() else {}, licence),
        "## Use",
        f"```python\nfrom permparse import Parser\n\nparser = Parser.load({name!r})  # or a path\n"
        "parse = parser.parse(sentence)\nparse.output, parse.confidence\n```",
        "## Figures",
        *([_figures(_read(path)) for path in evaluations] or ["Not evaluated when it was packaged."]),
        "## Limits",
        "The confidence is calibrated on held-out sentences of the training data's kind; on others it may mislead. The "
        "output of a sentence unlike the training data may be wrong without a sign of it.",
        "## Settings",
        f"```toml\n{parser.recipe.for_results().to_toml().strip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _facts(parser: Parser, run: Mapping[str, Any], licence: str) -> str:
    rows = {"task": f"{parser.task.name}: {parser.task.summary}", "parser": ", ".join(parser.facts())}
    if run:
        stages = [f"{stage}: {summary['seconds']:.0f} s" for stage, summary in run.get("stages", {}).items()]
        rows["training"] = "; ".join([f"seed {run['seed']}", *stages])
        rows["data"] = f"fingerprint {run['data']} of the training and dev examples"
    calibration = getattr(parser, "calibration", None)
    if calibration is not None and calibration.examples:
        rows["confidence"] = f"calibrated on {calibration.examples} examples"
    rows["made by"] = f"permparse {__version__}"
    rows["licence"] = licence or "not stated"
    return "\n".join(["| | |", "|---|---|", *(f"| {key} | {_cell(value)} |" for key, value in rows.items())])


def _figures(evaluation: Mapping[str, Any]) -> str:
    """The scores of one evaluation, in total and by group."""
    names = list(evaluation["total"]["metrics"])
    lines = [f"On `{evaluation['split']}`, {evaluation['date']}, permparse {evaluation['permparse_version']}:", ""]
    lines += [f"| | examples | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for title, rows in {**evaluation["groups"], "": {"total": evaluation["total"]}}.items():
        for value, score in rows.items():
            figures = " | ".join(f"{100 * score['metrics'][name]:.1f}" for name in names)
            lines.append(f"| {_cell(f'{title} {value}'.strip())} | {score['examples']:,} | {figures} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _read(path: Path) -> Mapping[str, Any]:
    found = table_in(path)
    if not {"total", "split"} & found.keys() | {"seed"} & found.keys():
        raise UserError(f"{path}: expected a file that permparse evaluate or train saved")
    return found
