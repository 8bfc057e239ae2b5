"""What a parse costs as the sentence grows: time and peak memory, for ordinary and for repeated words.

    python benchmarks/parsing_cost.py [runs/mine] [--sizes 100 200 ...] [--output results/bench_parsing_cost.json]

Without the folder of a run, the parser is one of the doubling task as it is before training, made to answer every word
with two tokens. "Ordinary" are words of the vocabulary at random, "repeated" is one word again and again. The search is
also timed alone on hard scores: random, all the same, pairs of tokens that want to follow each other, and points of a
plane. CPU seconds of one thread; memory is the peak above the state before the parse.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import random
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from rich.table import Table

from permparse import Parser, load_recipe
from permparse.base.console import note, out
from permparse.base.provenance import Provenance
from permparse.parsers.multiset_permutation.order import search_orders
from permparse.parsers.registry import parser_class
from permparse.permutation import JumpProblem
from permparse.tasks import get_task
from permparse.text import SPECIAL_SYMBOLS
from solver import _kilobytes as kilobytes

SIZES = (100, 200, 400, 800, 1600, 3200)
HARD = ("random", "tied", "pairs", "points")
NO_LIMIT = 10**6
ORDINARY_LIMIT = 2000
"""Tokens up to which exponents are fitted as well."""


@dataclass
class Cost:
    """One parse."""

    kind: str
    words: int
    tokens: int
    seconds: float
    megabytes: float
    proven_optimal: bool


def untrained() -> Parser:
    """A parser whose tagger answers every word with the same two tokens, and whose scorer knows nothing."""
    recipe = load_recipe("doubling", [f"max_words={NO_LIMIT}", f"max_tokens={NO_LIMIT}"])
    task = get_task(recipe.task)
    parser = parser_class(recipe.parser).build(recipe, task, task.load("train")[:200])
    tagger, first = parser.networks["tag"], len(SPECIAL_SYMBOLS)
    with torch.no_grad():
        tagger.logits.bias.unflatten(0, (-1, tagger.symbol_count))[0, first : first + 2] = 50.0
    return parser


def sentence(kind: str, vocabulary: list[str], size: int) -> str:
    words = random.Random(size).choices(vocabulary, k=size) if kind == "ordinary" else [vocabulary[0]] * size
    return " ".join(words)


def measure(parser: Parser, kind: str, text: str) -> Cost:
    ctypes.CDLL(None).malloc_trim(0)  # give back what earlier parses freed
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before, begin = kilobytes("VmRSS"), time.process_time()
    parse = parser.parse(text)
    seconds = time.process_time() - begin
    megabytes = (kilobytes("VmHWM") - before) / 1024
    return Cost(kind, len(parse.words), len(parse.tokens), seconds, megabytes, parse.proven_optimal)


def hard_problem(kind: str, n: int) -> JumpProblem:
    generator = torch.Generator().manual_seed(n)
    jump = torch.randn(1, n, n, generator=generator)
    if kind == "tied":
        jump = torch.zeros_like(jump)
    elif kind == "pairs":
        jump = jump + 10 * (torch.arange(n)[:, None] ^ 1 == torch.arange(n))
    elif kind == "points":
        points = torch.rand(n, 2, generator=generator)
        jump = -10 * torch.cdist(points, points)[None]
    ends = torch.randn(2, 1, n, generator=generator)
    return JumpProblem(ends[0], jump, ends[1])


def measure_search(kind: str, size: int) -> Cost:
    problem = hard_problem(kind, size)
    begin = time.process_time()
    found = search_orders(problem)[0]
    return Cost(f"search, {kind}", size, size, time.process_time() - begin, 0.0, found.proven_optimal)


def exponent(costs: list[Cost], value: str) -> float:
    """Slope of log value over log words."""
    points = [(math.log(c.words), math.log(max(getattr(c, value), 1e-3))) for c in costs]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?", type=Path, help="folder of a trained parser")
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="words of a sentence")
    options.add_argument("--output", type=Path, help="write the figures to this JSON file")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    if arguments.run is None:
        parser = untrained()
    else:
        parser = Parser.load(arguments.run, max_words=NO_LIMIT, max_tokens=NO_LIMIT)
    vocabulary = [word for word in parser.codec.words.tokens[3:] if word.isalpha()]
    table = Table(title="One parse, CPU seconds and peak memory")
    for column in ("words", "", "tokens", "seconds", "MB", "proven best"):
        table.add_column(column, justify="right")
    costs: dict[str, list[Cost]] = {"ordinary": [], "repeated": []}
    parser.parse(sentence("ordinary", vocabulary, 20))
    for kind, found in list(costs.items()):
        measure(parser, kind, sentence(kind, vocabulary, 30))  # compiles what this kind needs
        for size in arguments.sizes:
            cost = measure(parser, kind, sentence(kind, vocabulary, size))
            note(f"{kind}, {size} words: {cost.seconds:.2f} s")
            found.append(cost)
            row = (f"{cost.seconds:.2f}", f"{cost.megabytes:,.0f}", "yes" if cost.proven_optimal else "no")
            table.add_row(f"{size:,}", kind, f"{cost.tokens:,}", *row)
    for kind in HARD:
        measure_search(kind, 30)
        costs[f"search, {kind}"] = found = [measure_search(kind, size) for size in arguments.sizes]
        for cost in found:
            proven = "yes" if cost.proven_optimal else "no"
            table.add_row(f"{cost.words:,}", cost.kind, f"{cost.tokens:,}", f"{cost.seconds:.2f}", "", proven)
    out.print(table)
    slopes = {kind: exponent(found, "seconds") for kind, found in costs.items()}
    short = {kind: [cost for cost in found if cost.tokens <= ORDINARY_LIMIT] for kind, found in costs.items()}
    short_slopes = {kind: exponent(found, "seconds") for kind, found in short.items() if len(found) > 1}
    for kind, slope in slopes.items():
        limited = f", up to {ORDINARY_LIMIT:,} tokens as n^{short_slopes[kind]:.2f}" if kind in short_slopes else ""
        out.print(f"{kind}: time grows as n^{slope:.2f}{limited}")
    out.print(f"ordinary: memory grows as n^{exponent(costs['ordinary'], 'megabytes'):.2f}")
    if arguments.output:
        rows = [asdict(cost) for found in costs.values() for cost in found]
        memory = exponent(costs["ordinary"], "megabytes")
        figures = {"time_exponents": slopes, "up_to_2000_tokens": short_slopes, "memory_exponent": memory}
        arguments.output.write_text(json.dumps({"costs": rows, **figures, **asdict(Provenance())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
