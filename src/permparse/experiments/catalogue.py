"""Every table and figure that `permparse reproduce` knows, as data: what to train and what to show of it.

To add a row, add a `Row` and a line that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from permparse.base.errors import UserError, nearest
from permparse.experiments import baselines, published
from permparse.experiments.measures import Measure, accuracy, freq, minutes, parameters, seq_given_freq
from permparse.experiments.published import Published
from permparse.experiments.study import Axes, Cell, Line, Row, Study
from permparse.parsers.recipe import load_recipe, recipe_names

GEN = ("gen",)
COGS = Row("cogs", "cogs", splits=GEN)
PLAIN = "scorer.plain_values=true"
COGS_PLAIN = Row("cogs-plain-values", "cogs", (PLAIN,), GEN)
COGS_COPY = Row("cogs-plain-values-copy", "cogs", (PLAIN, "data.lexicon=copy"), GEN)
COGS_GEOMETRIC = Row("cogs-plain-values-scorer-geometric", "cogs", (PLAIN, "scorer.encoder.kind=geometric"), GEN)
COGS_LSTM = Row("cogs-lstm", "cogs-lstm", splits=GEN)
ATIS_IID = Row("atis-iid", "atis-iid")
ATIS_LENGTH = Row("atis-length", "atis-length")
CALENDAR = Row("okapi-calendar", "okapi-calendar")
CALENDAR_ONE = Row("okapi-calendar-candidates-1", "okapi-calendar", ("candidates=1",))
DOCUMENT = Row("okapi-document", "okapi-document")
EMAIL = Row("okapi-email", "okapi-email")
DOUBLING = Row("doubling", "doubling", splits=("test", "length-40", "length-100"))

VECTORS = "glove.100d.npz"
"""The file of word vectors that rows with vectors start from, in the folder that PERMPARSE_MODELS names."""
ENCODER = "all-MiniLM-L6-v2"
"""The pretrained encoder of rows with one, in the same folder."""
ENCODER_LR = 5e-5

PAPERS = "the paper's configuration, our code"
CATEGORIES = ("OS", "CP", "PP", "Lex")
LENGTHS = tuple(str(n) for n in (*range(11, 21), 40, 100))
CLAUSES = ("5", "6", "7")


def _paper(row: Row) -> Row:
    """The paper's configuration of a task, which is a recipe of its own."""
    return Row(f"{row.name}-paper", f"{row.recipe}-paper", splits=row.splits)


def _with_vectors(row: Row) -> Row:
    """The same with word vectors for words and output tokens, so that no word need be unknown."""
    places = ("tagger.encoder.vectors", "scorer.encoder.vectors", "scorer.symbol_vectors")
    overrides = (*row.overrides, *(f"{key}={VECTORS}" for key in places), "data.min_count=1")
    return Row(f"{row.name}-vectors", row.recipe, overrides, row.splits)


def _plain(row: Row) -> Row:
    """Our configuration of a task in the paper's notation."""
    return Row(f"{row.name}-plain", f"{row.recipe}-plain", splits=row.splits)


def _pretrained(row: Row) -> Row:
    """The same with a pretrained encoder in both networks."""
    settings = ("kind=pretrained", f"model={ENCODER}", f"lr={ENCODER_LR:g}")
    overrides = [f"{network}.encoder.{setting}" for network in ("tagger", "scorer") for setting in settings]
    return Row(f"{row.name}-pretrained", row.recipe, (*row.overrides, *overrides), row.splits)


def _learned(row: Row) -> Row:
    """Our configuration of a task in a notation learned from its training pairs."""
    return Row(f"{row.name}-learned", f"{row.recipe}-plain", ("data.notation=full",), row.splits)


def _by_notation(line: Callable[[str, Sequence[Row]], Line], rows: Sequence[Row]) -> list[Line]:
    """The lines of some tasks, from what knows least about their outputs to what knows most; every label ends in the
    notation, which a test compares with the recipes."""
    each: list[tuple[str, Callable[[Row], Row]]] = [
        (
            "the paper's configuration, LSTM and vectors, our code; the paper's notation",
            lambda r: _with_vectors(_paper(r)),
        ),
        ("the paper's configuration, LSTM, our code; the paper's notation", _paper),
        ("ours; the paper's notation", _plain),
        ("ours, pretrained encoder; the paper's notation", lambda r: _pretrained(_plain(r))),
        ("ours; learned notation", _learned),
        ("ours; hand-written notation", lambda r: r),
    ]
    return [line(label, [of(row) for row in rows]) for label, of in each]


def _lines(found: Sequence[Published], ours: Sequence[Line]) -> tuple[Line, ...]:
    """Published lines above ours; cells and lines of ours that no recipe stands behind yet are left out."""
    known = set(recipe_names())
    kept = []
    for line in ours:
        cells = tuple(c if not isinstance(c, Cell) or c.row.recipe in known else None for c in line.cells)
        if any(isinstance(cell, Cell) for cell in cells):
            kept.append(Line(line.label, cells))
    return (*(Line(p.label, p.values) for p in found), *kept)


def _cogs(label: str, rows: Sequence[Row], metric: str) -> Line:
    return Line(label, tuple(Cell(row, measure) for row in rows for measure in _cogs_measures(metric)))


def _cogs_measures(metric: str) -> list[Measure]:
    return [*(accuracy(metric, "gen", ("group", name)) for name in CATEGORIES), accuracy(metric, "gen")]


def _cogs_study(name: str, metric: str, title: str, found: Sequence[Published], note: str) -> Study:
    variants = [
        ("ours, plain values; hand-written notation", COGS_PLAIN),
        ("… without lexicon; hand-written notation", COGS_COPY),
        ("… geometric scorer; hand-written notation", COGS_GEOMETRIC),
        ("ours, LSTM tagger; hand-written notation", COGS_LSTM),
    ]
    ours = _by_notation(lambda label, rows: _cogs(label, rows, metric), [COGS])
    ours += [_cogs(label, [row], metric) for label, row in variants]
    ours += baselines.measured(COGS, _cogs_measures(metric))
    return Study(name, title, (*CATEGORIES, "total"), _lines(found, ours), note, seeds=10)


def _across(label: str, rows: Sequence[Row]) -> Line:
    """One column per task, by its main metric."""
    return Line(label, tuple(Cell(row, accuracy()) for row in rows))


def _task_study(
    name: str, title: str, columns: Sequence[str], rows: Sequence[Row], found: Sequence[Published]
) -> Study:
    ours = _by_notation(_across, rows) + baselines.across(rows)
    return Study(name, title, tuple(columns), _lines(found, ours))


TASKS: dict[str, Row] = {
    "doubling": DOUBLING,
    "COGS": _plain(COGS),
    "ATIS iid": _plain(ATIS_IID),
    "ATIS length": _plain(ATIS_LENGTH),
    "Okapi calendar": _plain(CALENDAR),
    "Okapi document": _plain(DOCUMENT),
    "Okapi email": _plain(EMAIL),
}
"""What is shown task by task: ours in the paper's notation."""


def _breakdown() -> Study:
    def line(label: str, row: Row, group: tuple[str, str] | None = None) -> Line:
        measures = [measure(row.splits[0], group) for measure in (freq, _seq, seq_given_freq)]
        return Line(label, (*(Cell(row, m) for m in measures), *published.BREAKDOWN.get(label, (None, None))))

    ours = [line(label, row) for label, row in TASKS.items()]
    ours[1:1] = [line(f"COGS {name}", TASKS["COGS"], ("group", name)) for name in CATEGORIES]
    return Study(
        "breakdown",
        "Where errors arise: multisets (Freq), outputs (Seq), outputs among right multisets (Seq/Freq), %",
        ("Freq", "Seq", "Seq/Freq", "the paper: Freq", "the paper: Seq"),
        _lines((), ours),
        "Ours in the paper's notation. The paper's figures are those of its pretrained model.",
        costs=False,
    )


def _seq(split: str, group: tuple[str, str] | None) -> Measure:
    return accuracy(None, split, group)


def _by_stage(
    name: str,
    title: str,
    measure: Callable[..., Measure],
    theirs: Mapping[str, tuple[str, str]],
    note: str,
) -> Study:
    """What the stages of every task cost, ours and the paper's."""

    def line(label: str, row: Row) -> Line:
        ours = (Cell(row, measure("tag")), Cell(row, measure("order")), Cell(row, measure()))
        return Line(label, (*ours, *theirs.get(label, (None, None))))

    columns = ("tag", "order", "both", "the paper: tag", "the paper: order")
    return Study(name, title, columns, _lines((), [line(*task) for task in TASKS.items()]), note, costs=False)


def _doubling() -> Study:
    def split(length: str) -> str:
        return "test" if int(length) <= 20 else f"length-{length}"

    measures = [accuracy("exact", split(n), ("length", n)) for n in LENGTHS]

    def line(label: str, row: Row) -> Line:
        return Line(label, tuple(Cell(row, measure) for measure in measures))

    ours = [line("ours", DOUBLING), line(PAPERS, _paper(DOUBLING))]
    return Study(
        "doubling",
        "Doubling by length, trained on lengths 5 to 10, exact match, %",
        LENGTHS,
        _lines((), [*ours, *baselines.measured(DOUBLING, measures)]),
        "The paper shows a figure: its model is near 100 % up to length 20, its LSTM and Transformer fall after 12.",
        figure=Axes("length of the word (trained on 5 to 10)", "% exact"),
    )


def _clauses() -> Study:
    measures = [accuracy("clauses", "test", ("clauses", n)) for n in CLAUSES]

    def line(label: str, rows: Sequence[Row]) -> Line:
        return Line(label, tuple(Cell(rows[0], measure) for measure in measures))

    return Study(
        "clauses",
        "Okapi document by number of clauses, clause-set match, %",
        CLAUSES,
        _lines((), _by_notation(line, [DOCUMENT]) + baselines.measured(DOCUMENT, measures)),
        "Trained on one to three clauses; the test set has 332, 174 and 8 requests of five, six and seven. The paper "
        "shows a figure without numbers.",
        figure=Axes("clauses of the request", "% right"),
    )


@dataclass(frozen=True)
class Choice:
    """One value of something we chose; ``bases`` are the configurations in which it is tried."""

    name: str
    label: str
    override: str
    bases: tuple[Row, ...] = (CALENDAR_ONE,)


BOTH = (CALENDAR_ONE, COGS_PLAIN)
CHOICES = (
    Choice("tagger-geometric", "encoder of the tagger: geometric", "tagger.encoder.kind=geometric", bases=BOTH),
    Choice("tagger-bilstm", "encoder of the tagger: BiLSTM", "tagger.encoder.kind=bilstm", bases=BOTH),
    Choice("scorer-geometric", "encoder of the scorer: geometric", "scorer.encoder.kind=geometric", bases=BOTH),
    Choice("scorer-bilstm", "encoder of the scorer: BiLSTM", "scorer.encoder.kind=bilstm", bases=BOTH),
    Choice("lexicon-induced", "lexicon: induced", "data.lexicon=induced", bases=BOTH),
    Choice("lexicon-copy", "lexicon: copying only", "data.lexicon=copy", bases=BOTH),
    Choice("lexicon-none", "lexicon: none", "data.lexicon=none"),
    Choice("hint-anchor", "alignment hint: anchors", "tagger.hints.kind=anchor"),
    Choice("hint-task", "alignment hint: the task's notation", "tagger.hints.kind=task", bases=(COGS_PLAIN,)),
    Choice("hint-value", "alignment hint: values", "tagger.hints.kind=value"),
    Choice("hint-ibm1", "alignment hint: IBM-1 (the paper)", "tagger.hints.kind=ibm1", bases=BOTH),
    Choice("hint-none", "alignment hint: none", "tagger.hints.kind=none"),
    Choice("temperature-1", "temperature: 1 / log n (the paper)", "scorer.training.temperature_power=1.0"),
    Choice("temperature-2", "temperature: 1 / log² n (the authors' code)", "scorer.training.temperature_power=2.0"),
    Choice("decoder-search", "decoder: path search", "decoder=search"),
    Choice("decoder-hungarian", "decoder: Hungarian (the paper)", "decoder=hungarian"),
    Choice("decoder-beam", "decoder: beam search over jumps", "decoder=beam"),
    Choice("positions", "scorer: positions instead of jumps (Sinkhorn)", "scorer.jumps=false"),
    Choice("candidates-20", "candidates: 20 multisets", "candidates=20"),
    Choice("candidates-1", "candidates: the likeliest multiset (the paper)", "candidates=1"),
    Choice("normalised", "scores: normalised", "scorer.normalise=true"),
    Choice("not-normalised", "scores: clipped (the paper)", "scorer.normalise=false"),
    Choice("annotation-constrained", "annotation: constrained", "scorer.training.annotation=constrained"),
    Choice("annotation-drop", "annotation: wrong multisets dropped (the paper)", "scorer.training.annotation=drop"),
    Choice("not-short", "outputs: not shortened (the paper)", "data.options.short=false"),
    Choice("values-in-context", "scorer: values seen in context", "scorer.plain_values=false", bases=(COGS_PLAIN,)),
)


def _ablations() -> Study:
    columns = (
        ("Okapi calendar", CALENDAR_ONE, accuracy()),
        ("COGS exact", COGS_PLAIN, accuracy("exact", "gen")),
        ("COGS order-free", COGS_PLAIN, accuracy("order_free", "gen")),
    )

    def cell(choice: Choice, base: Row, measure: Measure) -> Cell | None:
        if base not in choice.bases:
            return None
        overrides = (*base.overrides, choice.override)
        if _same_settings(base, overrides):
            return Cell(base, measure, "*")
        return Cell(Row(f"{base.name}-{choice.name}", base.recipe, overrides, base.splits), measure)

    lines = [Line("nothing changed", tuple(Cell(base, measure) for _, base, measure in columns))]
    lines += [Line(c.label, tuple(cell(c, base, measure) for _, base, measure in columns)) for c in CHOICES]
    return Study(
        "ablations",
        "One choice changed at a time, %",
        tuple(name for name, _, _ in columns),
        _lines((), lines),
        "In the hand-written notation. A star marks the setting as it is; without it, that one is changed and "
        "everything else, such as epochs and learning rates, left as it was. On Okapi, one candidate is used except "
        "where noted; on COGS, the scorer represents values without context except where noted.",
        seeds=3,
    )


def _same_settings(base: Row, overrides: Sequence[str]) -> bool:
    try:
        return load_recipe(base.recipe, overrides) == load_recipe(base.recipe, base.overrides)
    except UserError:
        return False


def all_studies() -> dict[str, Study]:
    """Every study by its name, in the order of the report."""
    studies = (
        _cogs_study(
            "cogs-exact",
            "exact",
            "COGS, generalisation set, exact match, %",
            published.COGS_EXACT,
            "Without lexicon: words are copied, nothing is learned about how they map to tokens.",
        ),
        _cogs_study(
            "cogs-order-free",
            "order_free",
            "COGS, generalisation set, order of conjuncts ignored, %",
            published.COGS_ORDER_FREE,
            "Petit et al. compare graphs; the RASP program is judged by its author's own measure.",
        ),
        _task_study("atis", "ATIS, tree match, %", ("iid", "length"), (ATIS_IID, ATIS_LENGTH), published.ATIS),
        _task_study(
            "okapi",
            "Okapi, clause-set match, %",
            ("calendar", "document", "email"),
            (CALENDAR, DOCUMENT, EMAIL),
            published.OKAPI,
        ),
        _breakdown(),
        _doubling(),
        _clauses(),
        _ablations(),
        _by_stage(
            "runtimes",
            "Minutes of training",
            minutes,
            published.MINUTES,
            "Ours in the paper's notation, on CPU, by the clock, with as many runs side by side as the list of runs "
            "says; the paper's on a GTX 1080 Ti or 2080 Ti, pretrained on COGS, LSTM elsewhere.",
        ),
        _by_stage(
            "parameters",
            "Millions of parameters",
            parameters,
            published.PARAMETERS,
            "Ours in the paper's notation. The paper's figures are those of its LSTM variants.",
        ),
    )
    return {study.name: study for study in studies}


def choose(names: Sequence[str], studies: dict[str, Study]) -> list[Study]:
    """The studies of these names, `all` for every one."""
    for name in names:
        if name != "all" and name not in studies:
            raise UserError(f"no table or figure is called {name!r}: {nearest(name, [*studies, 'all'])}")
    return list(studies.values()) if "all" in names else [studies[name] for name in dict.fromkeys(names)]
