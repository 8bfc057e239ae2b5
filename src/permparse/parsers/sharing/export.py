"""The tagger of a trained parser for other programs: torch.export or ONNX, with the words and symbols."""

from __future__ import annotations

import json
from pathlib import Path

from permparse.base.errors import UserError
from permparse.base.storage import write_atomically
from permparse.nn.export import as_onnx, as_pt2, exported_tagger
from permparse.parsers.base import Parser
from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser

WRITERS = {".pt2": as_pt2, ".onnx": as_onnx}


def export_tagger(parser: Parser, path: Path) -> None:
    """Write the tagger; the suffix of the path says in which format."""
    if path.suffix not in WRITERS:
        raise UserError(f"{path}: expected a name that ends in .pt2 (torch.export) or .onnx")
    if not isinstance(parser, MultisetPermutationParser):
        raise UserError(f"a parser of kind {parser.recipe.parser} has no tagger to export")
    codec = parser.codec
    program = exported_tagger(parser.tagger, len(codec.sizes.features))
    facts = {"words": json.dumps(codec.words.tokens), "symbols": json.dumps(codec.symbols.tokens)}
    write_atomically(path, WRITERS[path.suffix](program, facts))
