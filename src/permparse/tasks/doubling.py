"""The doubling task: read a word w over a small alphabet, write w twice.

Train on short words, test on longer ones. Generated here; the paper's own files are read from a folder.
"""

import math
import random
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from permparse.base.errors import UserError
from permparse.tasks.base import Metric, Task, exact_match
from permparse.tasks.downloads import data_folder
from permparse.text import Example

PER_LENGTH = 100


@final
@dataclass(frozen=True)
class Doubling(Task):
    """a b c ↦ _a _b _c _a _b _c."""

    summary = "write a word twice; trained on short words, tested on longer ones (generated)"
    splits = ("train", "dev_iid", "dev", "test")
    samples = ("a b c d e",)
    deep_samples = ("k a b d c e a g f i j h",)

    symbols: int = field(default=11, metadata={"help": "size of the alphabet"})
    shortest: int = field(default=5, metadata={"help": "shortest word in training"})
    longest: int = field(default=10, metadata={"help": "longest word in training; dev is one longer"})
    longest_test: int = field(default=20, metadata={"help": "longest word in test, which starts one above training"})
    size: int = field(default=4000, metadata={"help": "number of training examples"})
    seed: int = field(default=0, metadata={"help": "seed of the generator"})

    def __post_init__(self) -> None:
        if not 1 <= self.symbols <= len(string.ascii_lowercase):
            raise UserError(f"doubling: symbols must be from 1 to {len(string.ascii_lowercase)}, got {self.symbols}")
        if not 1 <= self.shortest <= self.longest < self.longest_test:
            raise UserError(
                "doubling: expected 1 <= shortest <= longest < longest_test, got "
                f"{self.shortest}, {self.longest}, {self.longest_test}"
            )
        if self.size < 1:
            raise UserError(f"doubling: size must be at least 1, got {self.size}")

    @property
    def name(self) -> str:
        return "doubling"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"exact": exact_match}

    def groups(self, example: Example) -> dict[str, str]:
        return {"length": str(len(example.source))}

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        """A split, or "length-N" for 100 words of length N. Without a folder they are generated."""
        if split.startswith("length-"):
            return [self._double(word) for word in self._words([self._length(split)], PER_LENGTH, split)]
        self.check_split(split)
        if folder is not None:
            return self.read(data_folder("doubling", folder) / "doubling" / f"{split}.tsv")
        short = list(range(self.shortest, self.longest + 1))
        if split in ("train", "dev_iid"):
            words = self._words(short, self.size + max(self.size // 8, 1), "train")
            chosen = words[: self.size] if split == "train" else words[self.size :]
        elif split == "dev":
            chosen = self._words([self.longest + 1], max(self.size // 20, 1), split)
        else:
            lengths = list(range(self.longest + 1, self.longest_test + 1))
            chosen = self._words(lengths, PER_LENGTH * len(lengths), split)
        return [self._double(word) for word in chosen]

    def _length(self, split: str) -> int:
        digits = split.removeprefix("length-")
        if not (digits.isascii() and digits.isdigit() and int(digits) > 0):
            raise UserError(f"doubling: expected a split such as length-40, got {split!r}")
        return int(digits)

    def _words(self, lengths: list[int], number: int, key: str) -> list[tuple[str, ...]]:
        """`number` different words, the lengths taking turns until all words of a length are used up."""
        source = random.Random(f"doubling {self.seed} {key}")
        alphabet = string.ascii_lowercase[: self.symbols]
        left = {n: self.symbols**n if n * math.log(self.symbols) < 40 else math.inf for n in lengths}
        words: dict[tuple[str, ...], None] = {}
        while len(words) < number and left:
            for n in list(left):
                word = tuple(source.choices(alphabet, k=n))
                if word in words or len(words) == number:
                    continue
                words[word] = None
                left[n] -= 1
                if not left[n]:
                    del left[n]
        if len(words) < number:
            raise UserError(
                f"doubling: only {len(words)} words of length {lengths[0]}–{lengths[-1]} over {self.symbols} "
                f"symbols, {number} needed; use a larger alphabet, longer words or a smaller size"
            )
        found = list(words)
        source.shuffle(found)
        return found

    def _double(self, word: tuple[str, ...]) -> Example:
        return self.example(" ".join(word), " ".join(f"_{symbol}" for symbol in word + word))
