"""Ways to damage a saved parser: its manifest, its recipe, its vocabulary, its weights, and the files themselves."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
CODEC, CALIBRATION, RECIPE = "codec.json", "calibration.json", "recipe.toml"
WEIGHTS = ("tagger.safetensors", "scorer.safetensors")
FILES = (RECIPE, CODEC, CALIBRATION, *WEIGHTS)
BOUND = "belongs_to"
"""Where weights say by a checksum which vocabulary they belong to."""
TYPES: tuple[object, ...] = (None, True, -1, 10**30, 1.5, "x", "\x1b[2J", [], [None], {}, {"a": 1}, [[1]])
"""Values of every type that JSON has, to stand where another is expected."""
DEEP = b"[" * 200_000


@dataclass(frozen=True)
class Variant:
    """One way to damage a folder; some may still serve, others must be refused."""

    name: str
    damage: Callable[[Path], None]
    must_be_refused: bool = True


def variants(good: Path, chance: random.Random, count: int) -> Iterator[Variant]:
    """All named ways, then random bytes changed in files whose checksums are made to agree, up to ``count``."""
    number = 0
    for ways in (_manifests, _file_kinds, _recipes, _codecs, _calibrations, _weights):
        for variant in ways():
            number += 1
            yield variant
    for extra in range(max(30, count - number)):
        name = chance.choice(FILES)
        flips = [(chance.random(), chance.randrange(256)) for _ in range(chance.choice([1, 3, 20]))]
        yield Variant(f"random bytes {extra} in {name}", partial(_flip, name, flips), must_be_refused=False)


# The manifest


def _manifests() -> Iterator[Variant]:
    whole: dict[str, bytes] = {
        "empty": b"",
        "blank": b" \n",
        "null": b"null",
        "a list": b"[]",
        "text": b'"permparse"',
        "deeply nested": DEEP,
        "not UTF-8": b"\xff\xfe{\x00}\x00",
        "NaN version": b'{"format":"permparse","version":NaN,"kind":"parser","files":{}}',
        "infinite version": b'{"format":"permparse","version":1e999,"kind":"parser","files":{}}',
        "a number of 10,000 digits": b'{"format":"permparse","version":' + b"9" * 10_000 + b"}",
        "200 MB of blanks": b" " * (200 << 20),
        "no files": b'{"format":"permparse","version":1,"kind":"parser","files":{}}',
    }
    for name, content in whole.items():
        yield Variant(f"manifest: {name}", partial(_write, MANIFEST, content))
    for share in (0.1, 0.5, 0.9, 0.99):
        yield Variant(f"manifest: cut at {share:.0%}", partial(_cut, MANIFEST, share))
    for key in ("format", "version", "kind", "files"):
        for value in TYPES:
            yield Variant(f"manifest: {key} = {value!r}", partial(_manifest_key, (key,), value))
    for key in ("file", "bytes", "sha256"):
        for value in (*TYPES[:8], "", "..", "/dev/zero", "\0", "\ud800", "a" * 5000, 10**15, -(10**15)):
            path = ("files", CODEC, key)
            yield Variant(f"manifest: {key} of the codec = {value!r:.40}", partial(_manifest_key, path, value))
    for name in FILES:
        yield Variant(f"manifest: without {name}", partial(_manifest_key, ("files", name), ...))
    yield Variant("manifest: a key twice", _key_twice)


def _manifest_key(path: tuple[str, ...], value: Any, folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    table = manifest
    for key in path[:-1]:
        table = table[key]
    if value is ...:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _key_twice(folder: Path) -> None:
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"kind"', '"kind": "other", "kind"', 1))


# What is no regular file


def _file_kinds() -> Iterator[Variant]:
    kinds: dict[str, Callable[[Path], None]] = {
        "a FIFO": os.mkfifo,
        "a socket": _socket,
        "a folder": os.mkdir,
        "a link to /dev/zero": partial(os.symlink, "/dev/zero"),
        "a link to /dev/random": partial(os.symlink, "/dev/random"),
        "a link to /dev/null": partial(os.symlink, "/dev/null"),
        "a link to itself": lambda path: os.symlink(path.name, path),
        "a link to nothing": partial(os.symlink, "nowhere"),
        "empty": Path.touch,
        "a sparse terabyte": _sparse,
    }
    for name in (MANIFEST, CODEC, WEIGHTS[0]):
        for kind, make in kinds.items():
            yield Variant(f"{name}: {kind}", partial(_replace_file, name, make))
    for kind, make in list(kinds.items())[:8]:
        yield Variant(f"the folder: {kind}", partial(_replace_folder, make))
    yield Variant("weights: a sparse terabyte, declared", _declared_terabyte)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def _replace_file(name: str, make: Callable[[Path], None], folder: Path) -> None:
    path = _stored(folder, name)
    path.unlink()
    make(path)


def _replace_folder(make: Callable[[Path], None], folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    make(folder)


def _declared_terabyte(folder: Path) -> None:
    _replace_file(WEIGHTS[0], _sparse, folder)
    _manifest_key(("files", WEIGHTS[0], "bytes"), 1 << 40, folder)


# The recipe


def _recipes() -> Iterator[Variant]:
    whole = {
        "empty": b"",
        "not UTF-8": b'task = "\xff"',
        "deeply nested": b"a = " + DEEP,
        "a number of 10,000 digits": b"seed = " + b"9" * 10_000,
        "binary": bytes(range(256)),
    }
    for name, content in whole.items():
        yield Variant(f"recipe: {name}", partial(_rewrite, RECIPE, lambda _, content=content: content))
    absurd = {
        "tagger.encoder.layers": 10**9,
        "tagger.encoder.hidden_size": 10**8,
        "tagger.encoder.embedding_size": 10**9,
        "tagger.ff_size": 10**9,
        "tagger.max_count": 10**9,
        "scorer.encoder.layers": 10**6,
        "scorer.encoder.hidden_size": 4096,
        "scorer.ff_size": 30_000,
        "scorer.copy_size": 10**9,
        "scorer.jump_size": 10**9,
        "candidates": 10**12,
        "surprise_weight": "nan",
        "tagger.ff_dropout": "nan",
        "tagger.training.lr": "inf",
        "device": '"meta"',
        "seed": -1,
    }
    for key, value in absurd.items():
        yield Variant(f"recipe: {key} = {value}", partial(_recipe_key, key, str(value)))
    names = [
        "os:system",
        "subprocess:Popen",
        "antigravity:fly",
        "json:JSONDecoder",
        "x\x1b[2J:y",
        "",
        "a:",
        ":",
        "..:x",
    ]
    for name in names:
        for key in ("task", "parser", "tagger.encoder.kind"):
            yield Variant(f"recipe: {key} = {name!r}", partial(_recipe_key, key, json.dumps(name)))
    for key in ("task", "data", "tagger", "scorer", "decoder", "device", "data.options", "tagger.encoder"):
        for value in ("1", "[]", '"\\u001b[2J"', "1979-05-27"):
            yield Variant(f"recipe: {key} = {value}", partial(_recipe_key, key, value))


def _recipe_key(key: str, value: str, folder: Path) -> None:
    import tomllib

    import tomli_w

    def change(content: bytes) -> bytes:
        recipe = tomllib.loads(content.decode())
        *tables, last = key.split(".")
        table = recipe
        for name in tables:
            table = table[name]
        table[last] = tomllib.loads(f"value = {value}")["value"]
        return tomli_w.dumps(recipe).encode()

    _rewrite(RECIPE, change, folder)


# Vocabulary, lexicon, notation, calibration


def _codecs() -> Iterator[Variant]:
    for share in (0.0, 0.1, 0.5, 0.99):
        yield Variant(f"codec: cut at {share:.0%}", partial(_cut_stored, CODEC, share))
    yield Variant("codec: deeply nested", partial(_rewrite, CODEC, lambda _: DEEP))
    yield Variant("codec: not UTF-8", partial(_rewrite, CODEC, lambda old: old.decode().encode("utf-16")))
    for key in ("words", "symbols", "lexicon", "lowercase", "seen_in_lower_case", "trigrams", "share_names"):
        for value in (None, 5, "x", [None], {"a": None}):
            yield Variant(f"codec: {key} = {value!r}", partial(_codec, lambda c, k=key, v=value: c.update({k: v})))
    for key in ("mode", "entries", "spellings", "non_copyable"):
        for value in (None, 5, [5], {"a": [1]}):
            yield Variant(
                f"codec: lexicon.{key} = {value!r}",
                partial(_codec, lambda c, k=key, v=value: c["lexicon"].update({k: v})),
            )
    for key in ("dropped", "brackets", "variables", "counted", "arities", "overrides", "rules", "named", "kinds"):
        for value in (5, [5], {"a": [1]}, "x"):
            yield Variant(
                f"codec: notation.{key} = {value!r}",
                partial(_codec, lambda c, k=key, v=value: c["writing"]["notation"].update({k: v})),
                must_be_refused=False,
            )
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "a word less": lambda c: c["words"].pop(),
        "a word twice": lambda c: c["words"].__setitem__(4, c["words"][5]),
        "a control character": lambda c: c["symbols"].__setitem__(-1, "\x1b]0;owned\x07"),
        "a count below 0": lambda c: c["trigrams"][0].__setitem__(3, -5),
        "a count of 0": lambda c: c["trigrams"][0].__setitem__(3, 0),
        "an infinite count": lambda c: c["trigrams"][0].__setitem__(3, float("inf")),
        "a gram too short": lambda c: c["trigrams"][0].pop(),
        "an unknown rule": lambda c: c["writing"]["notation"].update(rules={"ask": "magic", "cases": []}),
    }
    for name, change in changes.items():
        yield Variant(f"codec: {name}", partial(_codec, change))
    swaps: dict[str, Callable[[dict[str, Any]], object]] = {
        "words in another order": lambda c: c["words"].append(c["words"].pop(3)),
        "symbols in another order": lambda c: c["symbols"].append(c["symbols"].pop(2)),
        "another word": lambda c: c["words"].__setitem__(5, "intruder"),
    }
    for name, change in swaps.items():
        yield Variant(f"codec: {name}", partial(_codec, change, bound=False))


def _codec(change: Callable[[dict[str, Any]], object], folder: Path, bound: bool = True) -> None:
    """Change the vocabulary; ``bound``: and let the weights say that they belong to it."""

    def changed(content: bytes) -> bytes:
        codec = json.loads(content)
        change(codec)
        return json.dumps(codec).encode()

    _rewrite(CODEC, changed, folder)
    if bound:
        _bind(folder)


def _bind(folder: Path) -> None:
    digest = hashlib.sha256(_stored(folder, CODEC).read_bytes()).hexdigest()
    for name in WEIGHTS:
        _rewrite(
            name, lambda old: _with_header(old, lambda header: header.update(__metadata__={BOUND: digest})), folder
        )


def _calibrations() -> Iterator[Variant]:
    whole = [
        b"",
        b"[]",
        b"{}",
        b"null",
        DEEP,
        b'{"weights": [NaN, 0, 0, 0], "bias": 0, "examples": 1}',
        b'{"weights": [1e999, 0, 0, 0], "bias": 0, "examples": 1}',
        b'{"weights": [0, 0, 0, 0], "bias": 1e999, "examples": 1}',
        b'{"weights": "0000", "bias": 0, "examples": 1}',
        b'{"weights": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "bias": 0, "examples": 1}',
        b'{"weights": [[0]], "bias": 0, "examples": 1}',
        b'{"weights": [0, 0, 0, 0], "bias": null, "examples": 1}',
        b'{"weights": [0, 0, 0, 0], "bias": 0, "examples": "x"}',
        b'{"weights": [0, 0, 0, 0], "bias": 0, "examples": 1, "more": 2}',
    ]
    for content in whole:
        yield Variant(f"calibration: {content!r:.60}", partial(_rewrite, CALIBRATION, lambda _, new=content: new))


# Weights


def _weights() -> Iterator[Variant]:
    for name in WEIGHTS:
        for share in (0.0, 0.01, 0.5, 0.99):
            yield Variant(f"{name}: cut at {share:.0%}", partial(_cut_stored, name, share))
        changes: dict[str, Callable[[bytes], bytes]] = {
            "a huge header": lambda old: struct.pack("<Q", 2**63) + old[8:],
            "a header of 0 bytes": lambda old: struct.pack("<Q", 0) + old[8:],
            "a header that is no JSON": lambda old: old[:8] + b"x" * (len(old) - 8),
            "huge shapes": lambda old: _header(old, lambda entry: entry.update(shape=[2**40, 2**40])),
            "overlapping": lambda old: _header(old, lambda entry: entry.update(data_offsets=[0, 4])),
            "other types": lambda old: _header(old, lambda entry: entry.update(dtype="I32")),
            "unknown types": lambda old: _header(old, lambda entry: entry.update(dtype="F7")),
            "NaN": lambda old: _numbers(old, "nan"),
            "infinite": lambda old: _numbers(old, "inf"),
            "1e38": lambda old: _numbers(old, "1e38"),
        }
        for what, change in changes.items():
            yield Variant(f"{name}: {what}", partial(_rewrite, name, change))
    yield Variant("weights: of the other network", _swap_weights)


def _split(content: bytes) -> tuple[dict[str, Any], bytes]:
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _header(content: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Change what the header says of every tensor."""

    def changed(header: dict[str, Any]) -> None:
        for name, entry in header.items():
            if name != "__metadata__":
                change(entry)

    return _with_header(content, changed)


def _with_header(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    header, data = _split(content)
    change(header)
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + data


def _numbers(content: bytes, value: str) -> bytes:
    """Every tenth number replaced."""
    header, data = _split(content)
    numbers = bytearray(data)
    for place in range(0, len(numbers) - 3, 40):
        numbers[place : place + 4] = struct.pack("<f", float(value))
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + bytes(numbers)


def _swap_weights(folder: Path) -> None:
    one, other = (_stored(folder, name).read_bytes() for name in WEIGHTS)
    _rewrite(WEIGHTS[0], lambda _: other, folder)
    _rewrite(WEIGHTS[1], lambda _: one, folder)


# Files of a folder


def _stored(folder: Path, name: str) -> Path:
    if name == MANIFEST:
        return folder / MANIFEST
    return folder / json.loads((folder / MANIFEST).read_text())["files"][name]["file"]


def _write(name: str, content: bytes, folder: Path) -> None:
    (folder / name).write_bytes(content)


def _cut(name: str, share: float, folder: Path) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(share * len(content))])


def _cut_stored(name: str, share: float, folder: Path) -> None:
    _rewrite(name, lambda old: old[: int(share * len(old))], folder)


def _flip(name: str, flips: list[tuple[float, int]], folder: Path) -> None:
    def change(content: bytes) -> bytes:
        changed = bytearray(content)
        for place, byte in flips:
            changed[int(place * len(changed))] = byte
        return bytes(changed)

    _rewrite(name, change, folder)
    if name == CODEC:
        _bind(folder)


def _rewrite(name: str, change: Callable[[bytes], bytes], folder: Path) -> None:
    """Change a file, and its size and checksum in the manifest, as someone who knows the format would."""
    path = _stored(folder, name)
    content = change(path.read_bytes())
    path.write_bytes(content)
    for key, value in (("bytes", len(content)), ("sha256", hashlib.sha256(content).hexdigest())):
        _manifest_key(("files", name, key), value, folder)
