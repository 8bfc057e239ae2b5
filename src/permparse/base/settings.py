"""Settings as typed tables: immutable, documented by the text under each field, and strict about unknown keys.

Everything a user can set, in a recipe or by ``KEY=VALUE`` on the command line, goes through here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from permparse.base.errors import UserError, nearest

Table = dict[str, Any]
"""A table of TOML as it is read: keys to values or to further tables."""
TOML_LIMIT = 1 << 20
"""Characters of a recipe at most."""


class Section(BaseModel):
    """A table of settings. An unknown key is refused with the nearest valid one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, table: object) -> object:
        for key in table if isinstance(table, Mapping) else ():
            if key not in cls.model_fields:
                hint = nearest(str(key), cls.model_fields)
                raise PydanticCustomError("unknown_key", "unknown key {key}: {hint}", {"key": str(key), "hint": hint})
        return table

    def to_toml(self) -> str:
        """The table with every setting spelt out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def read_toml(text: str, where: str) -> Table:
    """A TOML document as a table; UserError if it is none, too long or nested too deeply."""
    if len(text) > TOML_LIMIT:
        raise UserError(f"{where}: expected at most {TOML_LIMIT:,} characters of TOML, got {len(text):,}")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a number of too many digits is no TOMLDecodeError
        raise UserError(f"{where}: not valid TOML: {error}") from error
    except RecursionError:
        raise UserError(f"{where}: the TOML is nested too deeply") from None


def read_pair(pair: str, example: str, option: str = "--set") -> tuple[str, Any]:
    """Key and value of ``KEY=VALUE``; the value is read as TOML, or taken as text if it is none."""
    key, equals, text = pair.partition("=")
    key = key.strip()
    if not equals or not key:
        raise UserError(f"{option} {pair}: expected KEY=VALUE, such as {example}")
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key, text


def nested(key: str, value: object) -> Table:
    """``a.b`` and a value as the table {a: {b: value}}."""
    for part in reversed(key.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Table:
    """Two tables in one; where both have a value, that of ``above`` counts."""
    result = dict(below)
    for key, value in above.items():
        known = result.get(key)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        result[key] = merged(known, value) if both else value  # type: ignore[arg-type]
    return result


def as_nested_mistake(error: ValidationError) -> PydanticCustomError:
    """The first mistake of a table that a validator has read by itself, to be raised by that validator."""
    return PydanticCustomError(
        "nested", "{error}", {"error": str(error), "mistake": error.errors(include_url=False)[0]}
    )


def first_mistake(error: ValidationError) -> str:
    """The first thing that is wrong with a table of settings, in words."""
    mistake: Any = error.errors(include_url=False)[0]
    path = [str(part) for part in mistake["loc"]]
    while mistake["type"] == "nested":
        mistake = mistake["ctx"]["mistake"]
        path += [str(part) for part in mistake["loc"]]
    key = ".".join(path)
    if mistake["type"] == "unknown_key":
        full = ".".join([*path, mistake["ctx"]["key"]])
        return f"unknown key {full!r}: {mistake['ctx']['hint']}"
    if mistake["type"] == "missing":
        return f"{key!r} is missing"
    if mistake["type"] in ("model_type", "model_attributes_type"):
        return f"{key!r}: expected a table, got {mistake['input']!r:.200}"
    return f"{key!r}: {mistake['msg'][0].lower()}{mistake['msg'][1:]}, got {mistake['input']!r:.200}"


def documentation(section: type[BaseModel], prefix: str = "") -> list[tuple[str, str, str]]:
    """(key, default, what it does) of every setting, in the order of the table."""
    rows = []
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            # A field of a general type may have a special one as its default, whose settings are then shown.
            default = field.get_default(call_default_factory=True)
            rows += documentation(type(default) if isinstance(default, inner) else inner, f"{prefix}{name}.")
        else:
            shown = "" if field.is_required() else as_toml(field.get_default(call_default_factory=True))
            choices = [str(choice) for choice in get_args(inner)] if get_origin(inner) is Literal else []
            text = " ".join((field.description or "").split())
            rows.append((prefix + name, shown, f"{text} One of: {', '.join(choices)}." if choices else text))
    return rows


def as_toml(value: object) -> str:
    """A setting as it is written in a recipe and after --set; nothing if it is not set."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return "{}" if value == {} else tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
