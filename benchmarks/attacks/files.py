"""Random file formats: `permparse train FILE` on brackets, separators and characters of any kind."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable
from pathlib import Path

from attacks.small import NETWORKS, as_options
from attacks.verdict import FAULT, Answer, Section, isolated, shared
from permparse.cli import run

SECONDS = 120.0
"""A file that takes longer counts as a hang."""
LARGEST = 5000
"""Lines of a file at most."""
ADAPTED = 10
"""One file of so many is trained with `adapt`, which tries what suits it."""
QUICK = [
    *NETWORKS,
    "tagger.max_count=2",
    "tagger.training.epochs=2",
    "tagger.training.batch=128",
    "tagger.training.lr=1e-2",
    "scorer.training.epochs=1",
    "scorer.training.batch=128",
]
BRACKETS = ["()", "[]", "{}", "<>", "«»", "（）", "「」", "||", "''", "()", "()", "))", "(]", ""]
SEPARATORS = [",", ";", "|", " ", ", ", " AND ", "::", ".", "", "、", "\\", "/", "--", "&&"]
QUOTES = ['"', "'", "`", "“", ""]
ALPHABETS = [
    "abcdefgh",
    "ABCdef",
    "0123456789",
    "äöüßéñ",
    "漢字仮名",
    "אבגד",
    "🙂👍🎉",
    "e\u0301o\u0308",
    "a\u200bb\u200d",
    "x_-.:",
    "§⁀‿␣",
    "()[]",
    "ǅIıİ",
]
SPECIAL = [
    "<pad>",
    "<unk>",
    "<end>",
    "<lex>",
    "<var>",
    "§",
    "⁀",
    "‿",
    "␣",
    "<name>",
    "<s>",
    "</s>",
    "$0",
    "x_1",
    "0",
    "00",
]
DAMAGE = [
    b"\t",
    b"\n",
    b"\xff",
    b"\x00",
    b"\r",
    b"\x1b[2J",
    b" ",
    b"\xc2\xa0",
    b"\xed\xa0\x80",
    b"\t\t\t",
    b"\xe2\x80\xa8",
]


def attack_files(count: int, scratch: Path) -> Section:
    """``count`` files of 1 to 1,000 lines, each trained in a forked process with all modules loaded."""
    warm = scratch / "warm.tsv"
    warm.write_bytes(_file(random.Random(0), 20))
    run(["train", str(warm), "--quiet", "--output", str(scratch / "warm"), "--set", "adapt=false", *as_options(QUICK)])
    return shared(lambda number: _attacked(number, scratch), count, scratch)


def _attacked(number: int, scratch: Path) -> Answer:
    """What became of the file of this number."""
    chance, path = random.Random(number), scratch / f"{number}.tsv"
    content = _file(chance, int(LARGEST ** (chance.random() ** 1.5)))  # most files are small
    path.write_bytes(content)
    adapted = number % ADAPTED == 0 and content.count(b"\n") < 300
    verdict, detail = isolated(_attack(path, scratch / f"run-{number}", adapted), SECONDS)
    path.unlink()
    return f"file {number}", verdict, detail


def _attack(path: Path, folder: Path, adapted: bool) -> Callable[[], tuple[str, str]]:
    def attack() -> tuple[str, str]:
        command = ["train", str(path), "--quiet", "--output", str(folder), *as_options(QUICK)]
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            code = run([*command, "--set", f"adapt={str(adapted).lower()}"])
        said = messages.getvalue()
        if code not in (0, 2) or "Traceback" in said:
            return f"{FAULT}exit code {code}", said
        return {0: "trained", 2: "refused in words"}[code] + (", adapted" if adapted else ""), said

    return attack


def _file(chance: random.Random, lines: int) -> bytes:
    """A file in a format of its own; one of three is damaged."""
    write = _Format(chance)
    content = write.newline.join(write.line() for _ in range(lines)).encode("utf-8", "surrogatepass")
    content = write.mark + content + (write.newline.encode() if chance.random() < 0.8 else b"")
    if chance.random() < 0.35:
        changed = bytearray(content)
        for _ in range(chance.choice([1, 1, 5])):
            where = chance.randint(0, len(changed))
            changed[where:where] = chance.choice(DAMAGE)
        content = bytes(changed)
    return content


class _Format:
    """How one file writes inputs and outputs."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.words = [self._word(chance.choice(ALPHABETS)) for _ in range(chance.randint(1, 30))]
        self.operators = [self._word(chance.choice(ALPHABETS)) for _ in range(chance.randint(1, 8))]
        if chance.random() < 0.2:
            self.words += chance.sample(SPECIAL, 3)
            self.operators += chance.sample(SPECIAL, 3)
        self.brackets, self.separator = chance.choice(BRACKETS), chance.choice(SEPARATORS)
        self.quote, self.blank = chance.choice(QUOTES), chance.choice(["", " "])
        self.depth, self.longest = chance.randint(0, 4), chance.choice([1, 3, 8, 20])
        self.newline = chance.choice(["\n", "\n", "\n", "\r\n"])
        self.mark = chance.choice([b"", b"", b"\xef\xbb\xbf"])
        self.columns = chance.choice([2, 2, 2, 3])
        self.empty = chance.choice([0.0, 0.0, 0.0, 0.02])
        self.reader: Callable[[list[str]], str] = chance.choice(
            [self._nested, self._nested, self._copied, self._random]
        )

    def line(self) -> str:
        chance = self.chance
        words = chance.choices(self.words, k=chance.randint(1, self.longest))
        fields = [" ".join(words), self.reader(words), chance.choice("pq")][: self.columns]
        return "\t".join("" if chance.random() < self.empty else field for field in fields)

    def _word(self, alphabet: str) -> str:
        return "".join(self.chance.choices(alphabet, k=self.chance.randint(1, 5)))

    def _nested(self, words: list[str], depth: int = 0) -> str:
        """A tree with the words as its leaves."""
        opening, closing = (self.brackets[:1], self.brackets[1:]) if self.brackets else ("", "")
        if len(words) == 1 or depth >= self.depth:
            return self.separator.join(f"{self.quote}{word}{self.quote}" for word in words)
        cut = self.chance.randint(1, len(words) - 1)
        parts = [self._nested(part, depth + 1) for part in (words[:cut], words[cut:])]
        blank = self.blank
        return f"{self._operator(words)}{blank}{opening}{blank}{self.separator.join(parts)}{blank}{closing}"

    def _operator(self, words: list[str]) -> str:
        return self.operators[len(words) % len(self.operators)]

    def _copied(self, words: list[str]) -> str:
        return self.separator.join(reversed(words)) or words[0]

    def _random(self, words: list[str]) -> str:
        signs = [*self.operators, *words, self.separator, *self.brackets]
        return self.blank.join(self.chance.choices(signs, k=self.chance.randint(1, 12)))
