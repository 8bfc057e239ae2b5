"""Sort arguments whose order has no meaning.

A name is that of a call, `and(b, a)` or `( and b a )`, or of an infix operator, `b AND a`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias, final

PIECE = re.compile(r'"[^"]*"|\s+|[(){}\[\]]|[,;]|[^\s(){}\[\],;"]+|"')
CLOSING = {"(": ")", "[": "]", "{": "}"}
SEPARATORS = (",", ";")

Node: TypeAlias = "str | Group"


@final
@dataclass
class Group:
    """What stands between two brackets, blanks included; without a closing bracket if the text ends before it."""

    opening: str
    nodes: list[Node]
    closing: str = ""


def with_sorted_arguments(text: str, names: Collection[str]) -> str:
    """The text with the arguments of these names sorted, innermost first; any text has an answer."""
    return _text(_sorted(_parsed(text), names, inside=False)) if names else text


def _parsed(text: str) -> list[Node]:
    levels: list[Group] = [Group("", [])]
    for piece in PIECE.findall(text):
        if piece in CLOSING:
            group = Group(piece, [])
            levels[-1].nodes.append(group)
            levels.append(group)
        elif len(levels) > 1 and piece == CLOSING[levels[-1].opening]:
            levels.pop().closing = piece
        else:
            levels[-1].nodes.append(piece)
    return levels[0].nodes


def _sorted(nodes: list[Node], names: Collection[str], inside: bool) -> list[Node]:
    """A sequence in its fixed order; ``inside`` brackets, its first word may be the name of a call."""
    found = [node if isinstance(node, str) else _sorted_group(node, names) for node in nodes]
    words = [at for at, node in enumerate(found) if not _blank(node)]
    for before, at, after in zip([None, *words], words, [*words[1:], None], strict=False):
        name, behind = found[at], None if after is None else found[after]
        if not isinstance(name, str) or name not in names:
            continue
        if isinstance(behind, Group) and (before is not None or not inside or _has_separators(behind)):
            behind.nodes = _joined(_split(behind.nodes, SEPARATORS))
        elif before is None and inside:
            return [*found[: at + 1], *_sorted_items(found[at + 1 :])]
        elif before is not None and after is not None:
            return _joined(_split(found, (name,)))
    return found


def _sorted_group(group: Group, names: Collection[str]) -> Group:
    return Group(group.opening, _sorted(group.nodes, names, inside=True), group.closing)


def _split(nodes: list[Node], separators: Collection[str]) -> tuple[list[list[Node]], list[Node]]:
    """The parts between separators, and the separators."""
    parts: list[list[Node]] = [[]]
    between: list[Node] = []
    for node in nodes:
        if isinstance(node, str) and node in separators:
            between.append(node)
            parts.append([])
        else:
            parts[-1].append(node)
    return parts, between


def _joined(split: tuple[list[list[Node]], list[Node]]) -> list[Node]:
    """The parts sorted by their text; blanks stay around the separators, where they were."""
    parts, between = split
    contents = sorted((_stripped(part) for part in parts), key=_text)
    joined: list[Node] = []
    for number, (part, content) in enumerate(zip(parts, contents, strict=True)):
        blanks = [node for node in part if _blank(node)]
        leading = blanks[:1] if part and _blank(part[0]) else []
        trailing = blanks[-1:] if len(part) > 1 and _blank(part[-1]) else []
        joined += [*leading, *content, *trailing, *between[number : number + 1]]
    return joined


def _sorted_items(nodes: list[Node]) -> list[Node]:
    """Arguments that only blanks separate, sorted; the blanks stay."""
    items = iter(sorted((node for node in nodes if not _blank(node)), key=lambda node: _text([node])))
    return [node if _blank(node) else next(items) for node in nodes]


def _stripped(part: list[Node]) -> list[Node]:
    start, end = 0, len(part)
    while start < end and _blank(part[start]):
        start += 1
    while end > start and _blank(part[end - 1]):
        end -= 1
    return part[start:end]


def _has_separators(group: Group) -> bool:
    return any(node in SEPARATORS for node in group.nodes if isinstance(node, str))


def _blank(node: Node) -> bool:
    return isinstance(node, str) and node.isspace()


def _text(nodes: list[Node]) -> str:
    return "".join(
        node if isinstance(node, str) else f"{node.opening}{_text(node.nodes)}{node.closing}" for node in nodes
    )
