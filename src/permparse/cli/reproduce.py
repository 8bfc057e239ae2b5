"""`permparse reproduce`: tables and figures, ours next to the paper's, from reproducible runs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from permparse.base.console import note, out
from permparse.base.errors import UserError
from permparse.cli.options import Cluster, DataFolder, Jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from permparse.executors import Executor
    from permparse.experiments.plan import Known, Run
    from permparse.experiments.runner import Failure, Places
    from permparse.experiments.study import Study


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Tables and figures; `all` for every one.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, help="Seeds of every row, from 100 on; if not given 5, 10 on COGS, 3 for the ablations."
        ),
    ] = None,
    rows: Annotated[
        list[str] | None, typer.Option("--row", help="Train only this row, such as atis-length; may be repeated.")
    ] = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    data: DataFolder = None,
    runs: Annotated[Path, typer.Option("--runs", help="Folder in which the runs are trained.")] = Path(
        "runs/reproduce"
    ),
    results: Annotated[Path, typer.Option("--results", help="Folder of the records, figures and README.md.")] = Path(
        "results"
    ),
    list_: Annotated[bool, typer.Option("--list", help="List tables and figures, and how much is done.")] = False,
    no_run: Annotated[bool, typer.Option("--no-run", help="Train nothing; show finished runs.")] = False,
) -> None:
    """Run what is missing from a table or figure, and print it next to the paper's.

    Every run writes one JSON file to results/runs. A run is skipped if its file exists
    and its recipe has not changed since. results/README.md is rewritten at the end.
    After Ctrl-C or a power cut, the same command continues where it stopped.

    [bold]Examples[/]

      permparse reproduce                        list tables and figures

      permparse reproduce doubling --seeds 2     minutes, no data needed

      permparse reproduce cogs-exact --jobs 2 --data DATA

      permparse reproduce all --cluster auto --data DATA

      permparse reproduce all --no-run           print every table as it stands
    """
    from permparse.executors import executor_for
    from permparse.experiments.catalogue import all_studies, choose
    from permparse.experiments.plan import Known, missing, only_rows, runs_of
    from permparse.experiments.runner import Places

    studies = all_studies()
    if list_ or not names:
        _list(studies.values(), Known(results), seeds)
        return
    chosen = choose(names, studies)
    if data is not None and not data.is_dir():
        raise UserError(f"{data}: no such folder; --data names the folder of the paper's data")
    failures: list[Failure] = []
    try:
        if not no_run:
            known = Known(results)
            wanted = only_rows(runs_of(chosen, seeds), rows or [])
            left = missing(wanted, known)
            with executor_for(cluster, jobs, [runs, results]) if left else nullcontext() as executor:
                note(f"{len(wanted)} runs, {len(left)} of them to do")
                if executor is not None:
                    failures = _run(left, known, Places(runs, results, data), executor)
        for study in chosen:
            _show(study, Known(results))
    except KeyboardInterrupt:
        note("stopped; the same command continues from here")
        _report(studies.values(), results)
        raise typer.Exit(130) from None
    _report(studies.values(), results)
    if failures:
        failed = ", ".join(failure.run.name for failure in failures)
        note("[bold red]{count} runs failed[/]: {names}", count=len(failures), names=failed)
        raise typer.Exit(1)


def _run(left: Sequence[Run], known: Known, places: Places, executor: Executor) -> list[Failure]:
    from permparse.experiments.display import Display
    from permparse.experiments.runner import run_all

    for run in left:
        try:
            if known.outdated(run):
                note("[yellow]again[/]   {name}: its recipe has changed since it was run", name=run.name)
        except UserError:
            continue  # said when it is this run's turn to fail
    with Display(len(left), executor, known) as display:
        return run_all(left, places, executor, display)


def _report(studies: Iterable[Study], results: Path) -> None:
    from permparse.experiments.report import write_report

    note("[dim]wrote {path}[/]", path=write_report(studies, results))


def _list(studies: Iterable[Study], known: Known, seeds: int | None) -> None:
    from permparse.experiments.plan import runs_of

    table = Table("name", "runs done", "shows", box=None, pad_edge=False, header_style="bold")
    for study in studies:
        wanted = runs_of([study], seeds)
        done = sum(known.find(run) is not None for run in wanted)
        table.add_row(study.name, f"{done} of {len(wanted)}", escape(study.title))
    out.print(table)
    out.print("[dim]permparse reproduce NAME runs what is missing and prints it; NAME = all for everything[/]")


def _show(study: Study, known: Known) -> None:
    from permparse.experiments.tables import build

    built = build(study, known)
    table = Table(title=escape(built.title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(built.header):
        table.add_column(escape(name), justify="right" if i else "left")
    for line, row in zip(study.lines, built.rows, strict=True):
        table.add_row(*(escape(cell) for cell in row), style="bold" if line.rows else "")
    out.print(table)
    if built.note:
        out.print(f"[dim]{escape(built.note)}[/]")
    out.print()
