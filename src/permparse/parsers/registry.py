"""Parsers by name; a class of one's own is named by its path, module:Class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from permparse.base.plugins import find_class

if TYPE_CHECKING:
    from permparse.parsers.base import Parser

PARSERS = {
    "multiset-permutation": "permparse.parsers.multiset_permutation.parser:MultisetPermutationParser",
    "lstm": "permparse.parsers.seq2seq.parser:LSTMParser",
    "transformer": "permparse.parsers.seq2seq.parser:TransformerParser",
    "permuter": "permparse.parsers.seq2seq.permuter:PermuterParser",
    "seq2seq-pretrained": "permparse.parsers.seq2seq.pretrained:PretrainedParser",
}
"""What a recipe can train."""
ENSEMBLE = "ensemble"
ENSEMBLES = {ENSEMBLE: "permparse.parsers.ensemble.parser:EnsembleParser"}
"""What is made of trained parsers."""
DEFAULT_PARSER = "multiset-permutation"


def parser_class(name: str) -> type[Parser]:
    """The parser of that name."""
    from permparse.parsers.base import Parser

    return find_class(name, PARSERS | ENSEMBLES, "parser", group="permparse.parsers", base=Parser)
