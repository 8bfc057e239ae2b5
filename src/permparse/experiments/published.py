"""What others report: figures of the paper and of systems it is compared with. Nothing here is ours.

The paper: Lindemann, Koller and Titov, "Compositional Generalization without Trees using Multiset Tagging and
Latent Permutations", ACL 2023, https://aclanthology.org/2023.acl-long.810.
"""

from __future__ import annotations

from dataclasses import dataclass

PAPER_URL = "https://aclanthology.org/2023.acl-long.810"


@dataclass(frozen=True)
class Number:
    """A published figure, with its standard deviation where one was given."""

    mean: float
    std: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:g}" if self.std is None else f"{self.mean:g} ± {self.std:g}"


@dataclass(frozen=True)
class Published:
    """One line of a published table; None or words where there is no single figure."""

    label: str
    values: tuple[Number | str | None, ...]


def _numbers(*means: float) -> tuple[Number, ...]:
    return tuple(Number(mean) for mean in means)


# Columns: OS, CP, PP, Lex, total.
COGS_EXACT = (
    Published("the paper, RoBERTa", (Number(9, 13), Number(79, 11), Number(85, 14), Number(97, 2), Number(92, 2))),
    Published("the paper, RoBERTa, without lexicon", _numbers(5, 71, 82, 79, 75)),
    Published("best other without trees", _numbers(0, 25, 35, 99, 88)),
    Published("Transformer with relative positions (Csordás et al. 2021)", (None, None, None, None, Number(81))),
)
COGS_ORDER_FREE = (
    Published("the paper, RoBERTa", (Number(33, 24), Number(82, 11), Number(91, 5), Number(97, 2), Number(93, 2))),
    Published("best other without trees, in the paper", _numbers(8, 14, 14, 99, 87)),
    Published("supertags and integer programming, BiLSTM (Petit et al. 2023)", _numbers(75, 100, 100, 99.1, 98.1)),
    Published("AM parser (trees)", _numbers(72, 100, 97, 76, 78)),
    Published("LeAR (trees)", _numbers(93, 100, 99, 99, 99)),
    Published("RASP program, written by hand", _numbers(100, 99.9, 98.4, 100, 99.9)),
)

# Columns: iid, length.
ATIS = (
    Published("the paper, RoBERTa", (Number(76.65, 1.67), Number(41.39, 13.47))),
    Published("the paper, LSTM and GloVe", (Number(73.93, 1.43), Number(38.79, 7.11))),
    Published("LSTM, in the paper", _numbers(75.98, 4.95)),
    Published("Transformer, in the paper", _numbers(75.76, 1.15)),
    Published("BART-base, in the paper", _numbers(86.96, 19.03)),
)

# Columns: calendar, document, email.
OKAPI = (
    Published("the paper, RoBERTa", _numbers(74.3, 57.8, 60.6)),
    Published("the paper, LSTM and GloVe", _numbers(65.6, 41.4, 47.6)),
    Published("best other without trees", _numbers(36.7, 0.6, 20.5)),
)

# By task: Freq and Seq of the paper's pretrained model.
BREAKDOWN: dict[str, tuple[Number | None, Number | None]] = {
    "COGS OS": (Number(50), Number(9, 13)),
    "COGS CP": (Number(97), Number(79, 11)),
    "COGS PP": (Number(99), Number(85, 14)),
    "COGS Lex": (None, Number(97, 2)),
    "COGS": (None, Number(92, 2)),
    "ATIS iid": (None, Number(76.65, 1.67)),
    "ATIS length": (None, Number(41.39, 13.47)),
    "Okapi calendar": (None, Number(74.3)),
    "Okapi document": (None, Number(57.8)),
    "Okapi email": (None, Number(60.6)),
}

# By task: minutes of tagging and ordering on a GTX 1080 Ti or 2080 Ti; LSTM variants but for COGS.
MINUTES: dict[str, tuple[str, str]] = {
    "doubling": ("3", "14"),
    "COGS": ("20", "80"),
    "ATIS iid": ("30", "110"),
    "ATIS length": ("30", "110"),
    "Okapi calendar": ("5–10", "30–55"),
    "Okapi document": ("5–10", "30–55"),
    "Okapi email": ("5–10", "30–55"),
}

# By task: millions of parameters of tagger and scorer of the LSTM variants.
PARAMETERS: dict[str, tuple[str, str]] = {
    "doubling": ("0.27", "0.46"),
    "ATIS iid": ("3.3", "1.8"),
    "ATIS length": ("3.3", "1.8"),
}
