"""How far confidence can be trusted: does it tell right from wrong outputs (AUC), and does 0.8 mean 80 % (ECE)?

    python benchmarks/confidence.py runs/mine dev.tsv test.tsv

For every file, in total and by category: the share of right outputs, the mean confidence, the area under the ROC curve
(0.5 is chance; – where all are right or all wrong) and the expected calibration error over ten bins. Then the mean
confidence in outputs of 500 sentences that mean nothing: half of them words of the files in disorder, half letters.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from permparse import Parser
from permparse.base.batching import spread

BINS = 10
NONSENSE = 500
MOST = 3000


def area_under_curve(confidence: np.ndarray, right: np.ndarray) -> float | None:
    """The probability that a right output has more confidence than a wrong one; ties count half."""
    rights, wrongs = int(right.sum()), int((~right).sum())
    if not rights or not wrongs:
        return None
    ranks = rankdata(confidence)
    return float((ranks[right].sum() - rights * (rights + 1) / 2) / (rights * wrongs))


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Σ over bins of confidence: share of the bin · |mean confidence - share of right ones|."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    members = [bins == k for k in range(BINS) if (bins == k).any()]
    return float(sum(m.mean() * abs(confidence[m].mean() - right[m].mean()) for m in members))


def line(label: str, confidence: np.ndarray, right: np.ndarray) -> str:
    area = area_under_curve(confidence, right)
    shown = "–" if area is None else f"{area:.3f}"
    error = calibration_error(confidence, right)
    return f"{label:40} {len(right):6,} {100 * right.mean():6.1f} {confidence.mean():6.3f} {shown:>6} {error:6.3f}"


def nonsense(sentences: Sequence[str], seed: int = 0) -> list[str]:
    """Words of the sentences in disorder, and words of random letters, in turns."""
    chance = random.Random(seed)
    words = [word for sentence in sentences for word in sentence.split()]
    letters = "abcdefghijklmnopqrstuvwxyz"
    made = []
    for number in range(NONSENSE):
        length = chance.randint(4, 12)
        if number % 2:
            made.append(" ".join(chance.choices(words, k=length)))
        else:
            made.append(" ".join("".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(length)))
    return made


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", type=Path, help="folder of a run or of a saved parser")
    options.add_argument("files", type=Path, nargs="+", help="tab-separated files: input, output, category")
    chosen = options.parse_args()
    parser = Parser.load(chosen.run)
    is_right = next(iter(parser.task.metrics.values()))
    print(f"{'':40} {'count':>6} {'right':>6} {'conf.':>6} {'AUC':>6} {'ECE':>6}")
    sentences: list[str] = []
    for file in chosen.files:
        examples = parser.task.read(file)
        examples = [examples[i] for i in spread(len(examples), MOST)]
        parses = parser.parse_words([example.source for example in examples])
        sentences += [" ".join(example.source) for example in examples]
        confidence = np.array([parse.confidence for parse in parses])
        right = np.array([is_right(p.output, e.output) for p, e in zip(parses, examples, strict=True)])
        print(line(file.name, confidence, right))
        members = defaultdict(list)
        for i, example in enumerate(examples):
            if example.category:
                members[example.category].append(i)
        for category, of in sorted(members.items()):
            print(line(f"  {category}", confidence[of], right[of]))
    parses = parser.parse(nonsense(sentences))
    for label, of in (("letters", parses[::2]), ("words in disorder", parses[1::2])):
        figures = [parse.confidence for parse in of]
        high = np.mean([figure > 0.5 for figure in figures])
        print(f"{label}: {len(of)} sentences, mean confidence {np.mean(figures):.3f}, {high:.0%} above 0.5")


if __name__ == "__main__":
    main()
