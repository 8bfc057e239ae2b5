"""Stage 1's likelihood: the recursion over gold types beside the recursion over the whole vocabulary.

    python benchmarks/multiset.py [--data FOLDER] [--output results/bench_multiset.json]

Batches of 64 COGS sentences if the data folder is named, random ones of the same shape otherwise. One thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from permparse.multiset import FIRST_TYPE, Group, log_total_probability, target_groups
from permparse.nn import TaggerBatch, TaggerExample, multiset_loss, tagger_batch
from permparse.tasks import get_task

BATCH, BATCHES, MAX_COUNT = 64, 12, 4


def full_vocabulary_loss(logits: Tensor, batch: TaggerBatch) -> Tensor:
    """The recursion for every symbol of every example. *Shape:* [B, m, K, V] -> [B]."""
    examples, size, _, symbols = logits.shape
    log_probs = F.pad(logits.permute(0, 3, 1, 2), (1, 0)).log_softmax(-1)  # [B, V, m, K+1]
    idle = torch.tensor([0.0] + [float("-inf")] * MAX_COUNT)
    log_probs = torch.where(batch.source.mask[:, None, :, None], log_probs, idle)
    totals = torch.zeros((examples, symbols), dtype=torch.int64)
    totals[batch.shared[:, 0], batch.shared[:, 1]] = batch.shared[:, 2]
    flat = log_total_probability(log_probs.reshape(-1, size, MAX_COUNT + 1), totals.flatten())
    return -flat.view(examples, symbols).sum(1)


def cogs_batches(folder: Path) -> tuple[list[TaggerBatch], int]:
    """Training sentences of similar length; every output token but the variables is a symbol of its own."""
    examples = [e for e in get_task("cogs").load("train", folder) if len(e.source) > 1]
    examples.sort(key=lambda e: len(e.source))
    targets = [[token for token in e.target if not token.isdecimal()] for e in examples]
    types = sorted({token for target in targets for token in target})
    symbols = {token: FIRST_TYPE + index for index, token in enumerate(types)}
    batches = []
    for start in np.linspace(0, len(examples) - BATCH, BATCHES).astype(int):
        chosen = range(start, start + BATCH)
        sizes = [len(examples[i].source) for i in chosen]
        groups = [target_groups(targets[i], [None] * m, symbols).groups for i, m in zip(chosen, sizes, strict=True)]
        batches.append(_batch(sizes, groups))
    return batches, FIRST_TYPE + len(types)


def random_batches(symbols: int = 670) -> tuple[list[TaggerBatch], int]:
    """Sentences of 5 to 20 words with 3 to 9 output types each."""
    random = np.random.default_rng(0)
    batches = []
    for _ in range(BATCHES):
        size = int(random.integers(5, 21))
        groups = []
        for _ in range(BATCH):
            types = random.choice(np.arange(FIRST_TYPE, symbols), random.integers(3, 10), replace=False)
            totals = random.integers(1, 4, len(types))
            groups.append([Group(int(v), int(t), tuple(range(size))) for v, t in zip(types, totals, strict=True)])
        batches.append(_batch([size] * BATCH, groups))
    return batches, symbols


def _batch(sizes: list[int], groups: list) -> TaggerBatch:
    return tagger_batch([TaggerExample.build([1] * m, g) for m, g in zip(sizes, groups, strict=True)])


def milliseconds(loss: Callable[[Tensor, TaggerBatch], Tensor], logits: Tensor, batch: TaggerBatch) -> float:
    """The fastest of three runs of the loss and its gradient."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        torch.autograd.grad(loss(logits, batch).sum(), logits)
        times.append(1e3 * (time.perf_counter() - began))
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that holds cogs/train.tsv")
    parser.add_argument("--output", type=Path, default=Path("results/bench_multiset.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    batches, symbols = cogs_batches(arguments.data) if arguments.data else random_batches()
    rows = []
    print("words groups largest total gold types, ms  full, ms factor")
    for batch in batches:
        size = batch.source.ids.shape[1]
        logits = (torch.randn(BATCH, size, MAX_COUNT, symbols) - 4).requires_grad_()
        gold, full = multiset_loss(logits, batch).detach(), full_vocabulary_loss(logits, batch).detach()
        row = {
            "words": size,
            "groups": len(batch.shared),
            "largest_total": int(batch.shared[:, 2].max()),
            "gold_types_ms": milliseconds(multiset_loss, logits, batch),
            "full_vocabulary_ms": milliseconds(full_vocabulary_loss, logits, batch),
            "largest_relative_difference": float(((gold - full).abs() / full).max()),
        }
        rows.append(row)
        factor = row["full_vocabulary_ms"] / row["gold_types_ms"]
        print(
            f"{row['words']:5d} {row['groups']:6d} {row['largest_total']:13d} {row['gold_types_ms']:14.1f} "
            f"{row['full_vocabulary_ms']:9.1f} {factor:6.1f}"
        )
    speedup = statistics.median(row["full_vocabulary_ms"] / row["gold_types_ms"] for row in rows)
    print(f"{symbols} symbols, batches of {BATCH}: median factor {speedup:.1f}")
    result = {
        "data": "cogs" if arguments.data else "random",
        "batch": BATCH,
        "symbols": symbols,
        "max_count": MAX_COUNT,
        "median_speedup": speedup,
        "batches": rows,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
