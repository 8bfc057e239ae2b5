"""Schemas of `codec.json` and `calibration.json` of a saved parser and of the rules of a notation, checked first.

Only types and ranges are checked here; a missing key is found when the codec is read.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from permparse.base.errors import UserError
from permparse.base.reading import read_json
from permparse.base.settings import first_mistake
from permparse.parsers.multiset_permutation.confidence import Evidence


def _shown(token: str) -> str:
    """A token that a terminal shows and does not obey."""
    if not token.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs") and not c.isspace() for c in token):
        raise ValueError("expected no control characters")
    return token


Token = Annotated[str, AfterValidator(_shown)]
Count = Annotated[int, Field(ge=1, le=2**53)]
Coefficient = Annotated[int, Field(ge=-(2**31), le=2**31)]
Pair = Annotated[tuple[Token, Token], Field(strict=False)]
Gram = Annotated[tuple[Token, Token, Token, Count], Field(strict=False)]  # JSON has lists, no tuples


class _Stored(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class _Lexicon(_Stored):
    mode: Literal["induced", "copy", "none"] = "none"
    entries: dict[Token, Token] = {}
    spellings: dict[Token, Token] = {}
    non_copyable: list[Token] = []
    never_copied: list[Token] = []
    case_insensitive: bool = False
    variables: bool = False


class _Rule(_Stored):
    insert: Token | None = None
    seen: dict[Token, int] = {}
    ask: str | None = None
    cases: list[_Case] = []


class _Case(_Stored):
    values: list[Token | int]
    otherwise: bool
    then: _Rule


class _Notation(_Stored):
    dropped: list[Token] = []
    brackets: dict[Token, Token] = {}
    variables: Token = ""
    counted: list[Token] = []
    arities: dict[Token, dict[Token, int]] = {}
    ends: dict[Token, list[Token]] = {}
    separators: dict[Token, Token] = {}
    keys: list[Token] = []
    together: dict[Token, list[Token]] = {}
    behind: dict[Token, list[Token]] = {}
    begin: dict[Token, list[Token]] = {}
    overrides: list[list[Token]] = []
    rules: _Rule = _Rule()
    named: list[Token] = []
    kinds: dict[Token, Token] = {}


class _Statements(_Stored):
    brackets: dict[Token, Token]
    separator: Token
    leading: dict[Token, Token]


class _Writing(_Stored):
    pieces: dict[str, Any] | None = None
    first_position: int | None = Field(default=None, ge=0, le=1)
    statements: _Statements | None = None
    notation: _Notation = _Notation()


class _Companions(_Stored):
    after: dict[Token, list[Token]]
    before: dict[Token, list[Token]]


class _Kinds(_Stored):
    known: dict[Token, Token] = {}
    usual: dict[Token, Token] = {}


class _Equation(_Stored):
    coefficients: dict[Token, Coefficient]
    total: Coefficient


class _Relations(_Stored):
    equations: list[_Equation]
    rare: list[Token]
    outputs: int = Field(ge=0, le=2**53)


class _Codec(_Stored):
    words: list[Token] = []
    symbols: list[Token] = []
    lexicon: _Lexicon = _Lexicon()
    lowercase: bool = False
    seen_in_lower_case: list[Token] = []
    trigrams: list[Gram] = []
    share_names: bool = False
    writing: _Writing | None = None
    companions: _Companions | None = None
    kinds: _Kinds = _Kinds()
    never: list[Pair] = []
    within: list[Pair] = []
    between: list[Pair] = []
    relations: _Relations | None = None


class _Calibration(_Stored):
    weights: list[float] = Field(max_length=len(Evidence._fields))
    bias: float
    examples: int = Field(ge=0)


def check_codec(content: bytes, where: str) -> None:
    """UserError if the file cannot be that of a codec."""
    _check(_Codec, content, where)


def read_notation(content: bytes, where: str) -> dict[str, Any]:
    """The rules of a notation, which a user may have edited; UserError if they are none."""
    return _check(_Writing, content, where)


def read_calibration(content: bytes, where: str) -> dict[str, Any]:
    """The fields of a calibration; UserError if they are none."""
    return _check(_Calibration, content, where)


def _check(model: type[BaseModel], content: bytes, where: str) -> dict[str, Any]:
    table = read_json(content, where)
    try:
        model.model_validate(table)
    except ValidationError as error:
        raise UserError(f"{where}: damaged: {first_mistake(error)}") from error
    return dict(table)
