"""Word vectors for the two networks: read when training begins, saved with the parser or as a reference, restored.

The vectors of known words become weights. Those of all other words are kept in a separate table.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import torch

from permparse.base.errors import UserError
from permparse.base.files import MODELS, digest, located
from permparse.base.settings import merged
from permparse.nn import Encoder, JumpScorer, WordEncoder, WordTable
from permparse.nn.encoders import EncoderSettings
from permparse.parsers.multiset_permutation.codec import END, Codec
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.text import Vectors, read_vectors, vector_size

FILE = "vectors.json"
TABLE = "vectors_table.safetensors"
CARRIED = 200 * 2**20
"""Up to so many bytes of vectors are saved with the parser; of more, it keeps the name and checksum of their file."""


def with_vector_sizes(recipe: MultisetPermutationRecipe) -> MultisetPermutationRecipe:
    """The recipe with embeddings as large as the vectors that they start from."""
    changes: dict[str, dict[str, object]] = {}
    for network in ("tagger", "scorer"):
        if size := embedding_size(getattr(recipe, network).encoder):
            changes.setdefault(network, {})["encoder"] = {"embedding_size": size}
    if size := _size(recipe.scorer.symbol_vectors):
        changes.setdefault("scorer", {})["symbol_size"] = size
    if not changes:
        return recipe
    return type(recipe).model_validate(merged(recipe.model_dump(exclude_none=True), changes))


def embedding_size(encoder: EncoderSettings) -> int:
    """The size of the vectors that an encoder starts from; 0 if it starts from none."""
    return _size(getattr(encoder, "vectors", None))


def _size(path: Path | None) -> int:
    return 0 if path is None else vector_size(located(path))


class VectorReader:
    """Reads each file once, however many networks start from it."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._found: dict[Path, tuple[Vectors, WordTable]] = {}

    def known(self, path: Path) -> Vectors:
        """The vectors of words of the vocabulary."""
        return self._read(path)[0]

    def others(self, path: Path) -> WordTable:
        """The vectors of all other words."""
        return self._read(path)[1]

    def symbols(self, path: Path) -> Vectors:
        """The vectors of output tokens: as they are written, or else in lower case."""
        found, rows = read_vectors(located(path)), {}
        row_of = {word: row for row, word in enumerate(found.words)}
        for token in sorted(self._codec.ordinary_symbols):
            row = row_of.get(token, row_of.get(token.lower()))
            if row is not None:
                rows[token] = row
        return Vectors(tuple(rows), found.matrix[list(rows.values())])

    def _read(self, path: Path) -> tuple[Vectors, WordTable]:
        if path not in self._found:
            words, lowercase = self._codec.words, self._codec.lowercase
            vectors = read_vectors(located(path))
            vectors = vectors.folded(str.lower) if lowercase else vectors
            known = vectors.restricted(lambda word: word in words and word not in words.specials)
            if not known.words:
                raise UserError(
                    f"{located(path)}: has a vector for none of the {len(words) - len(words.specials):,} words of the "
                    "vocabulary; is it of the right language, and in the same case (data.lowercase)?"
                )
            others = vectors.restricted(lambda word: word not in words)
            self._found[path] = known, WordTable(others.words, torch.from_numpy(others.matrix), lowercase)
        return self._found[path]


def give_vectors(encoders: Mapping[str, Encoder], codec: Codec, new: Collection[str]) -> list[str]:
    """Give all encoders the vectors that their settings name, those of ``new`` stages as weights to start from; lines
    that say what was found."""
    reader, lines = VectorReader(codec), []
    for stage, encoder in encoders.items():
        if not isinstance(encoder, WordEncoder) or encoder.settings.vectors is None:
            continue
        known, others = reader.known(encoder.settings.vectors), reader.others(encoder.settings.vectors)
        device = encoder.words.weight.device
        ids = torch.from_numpy(np.array(codec.words.ids(known.words), dtype=np.int64)).to(device)
        if stage in new:
            encoder.start_from(ids, torch.from_numpy(known.matrix).to(device))
        encoder.mark_given(ids)
        encoder.table = others.to(device)
        text = encoder.counts.sum() - encoder.counts[codec.words.id(END)]
        seen = float(encoder.counts[ids].sum() / text.clamp(min=1))
        total = len(codec.words) - len(codec.words.specials)
        kept = "carries" if _bytes(others) <= CARRIED else "refers to"
        lines.append(
            f"{stage}: vectors of {len(ids):,} of {total:,} words ({seen:.1%} of the training text); "
            f"the parser {kept} those of {len(others.words):,} others"
        )
    return lines


def give_symbol_vectors(scorer: JumpScorer, codec: Codec) -> list[str]:
    """Let the output tokens start from the vectors that the settings name; a line that says what was found."""
    if scorer.settings.symbol_vectors is None:
        return []
    vectors = VectorReader(codec).symbols(scorer.settings.symbol_vectors)
    with torch.no_grad():
        ids = torch.tensor(codec.symbols.ids(vectors.words), dtype=torch.int64)
        scorer.symbols.weight[ids] = torch.from_numpy(vectors.matrix).to(scorer.symbols.weight)
    return [f"order: vectors of {len(ids):,} of {len(codec.ordinary_symbols):,} output tokens"]


def vector_files(encoders: Mapping[str, Encoder]) -> dict[str, bytes]:
    """What a saved parser keeps of the vectors of unknown words; a table that both networks use is kept once."""
    kept: dict[str, dict[str, object]] = {}
    files: dict[str, bytes] = {}
    for stage, table in _tables(encoders).items():
        same = next(
            (kept[other] for other, known in _tables(encoders).items() if known is table and other in kept), None
        )
        if same is not None:
            kept[stage] = same
        elif _bytes(table) <= CARRIED:
            name = TABLE if not files else TABLE.replace(".", f"_{stage}.")
            files[name] = Vectors(table.words, table.matrix.float().cpu().numpy()).to_bytes()
            kept[stage] = {"file": name, "lowercase": table.lowercase}
        else:
            kept[stage] = {"sha256": digest(located(_path(encoders[stage]))), "lowercase": table.lowercase}
    return files | {FILE: json.dumps(kept).encode()} if kept else {}


def restore_vectors(encoders: Mapping[str, Encoder], codec: Codec, files: Mapping[str, bytes], where: str) -> None:
    """The inverse of `vector_files`; UserError if a file that the parser refers to is missing or another one."""
    restored: dict[str, WordTable] = {}
    reader = VectorReader(codec)
    for stage, of in json.loads(files.get(FILE, b"{}")).items():
        encoder = encoders[stage]
        assert isinstance(encoder, WordEncoder)
        if "file" not in of:
            _require_same(_path(encoder), of["sha256"], where)
            encoder.table = reader.others(_path(encoder))
            continue
        if of["file"] not in restored:
            vectors = Vectors.from_bytes(files[of["file"]])
            matrix = torch.from_numpy(vectors.matrix).to(encoder.words.weight.device)
            restored[of["file"]] = WordTable(vectors.words, matrix, of["lowercase"])
        encoder.table = restored[of["file"]]


def _tables(encoders: Mapping[str, Encoder]) -> dict[str, WordTable]:
    found = {stage: e.table for stage, e in encoders.items() if isinstance(e, WordEncoder)}
    return {stage: table for stage, table in found.items() if table is not None}


def _bytes(table: WordTable) -> int:
    return 4 * table.matrix.numel()


def _path(encoder: Encoder) -> Path:
    assert isinstance(encoder, WordEncoder)
    assert encoder.settings.vectors is not None
    return encoder.settings.vectors


def _require_same(path: Path, sha256: str, where: str) -> None:
    found = located(path)
    if not found.is_file():
        raise UserError(
            f"{where}: refers to the word vectors {path}, which are not here; put the file there, or into the folder "
            f"that {MODELS} names"
        )
    if digest(found) != sha256:
        raise UserError(f"{where}: refers to other word vectors than {found} now holds; put the original file back")
