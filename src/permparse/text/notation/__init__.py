"""A notation learned from training pairs: output tokens that the others imply are dropped, and restored exactly."""

from permparse.text.notation.brackets import find_brackets
from permparse.text.notation.choice import Level
from permparse.text.notation.learn import learn
from permparse.text.notation.notation import Notation
from permparse.text.notation.pieces import Pieces, learn_pieces
from permparse.text.notation.positions import position_offset
from permparse.text.notation.statements import Statements, find_statements
from permparse.text.notation.storage import explain, from_json, to_json

__all__ = [
    "Level",
    "Notation",
    "Pieces",
    "Statements",
    "explain",
    "find_brackets",
    "find_statements",
    "from_json",
    "learn",
    "learn_pieces",
    "position_offset",
    "to_json",
]
