"""Two made-up output languages: nested calls with commas and quotation marks, and a variable-free one like COGS."""

import random

NAMES = [
    "Adele",
    "Bach",
    "Cher",
    "Dido",
    "Enya",
    "Falco",
    "Gaga",
    "Haim",
    "Iggy Pop",
    "Joan Baez",
    "Kate Bush",
    "Lou Reed",
]
LATER_NAMES = [*NAMES, "Miles Davis", "Nina Simone", "Otis", "Prince", "Queen"]
NOUNS = ["song", "album", "concert", "playlist", "video", "track"]
ONE = {"newest": "newest", "longest": "longest", "sorted": "sort", "unplayed": "unplayed", "count": "number of"}
TWO = {"by": "by", "like": "like", "before": "before", "after": "after"}
MANY = {"all": "and", "any": "or"}


def call(chance: random.Random, depth: int, most: int, names: list[str]) -> tuple[str, str]:
    """A phrase and its call, nested to exactly `depth` calls."""
    if depth == 0:
        noun = chance.choice(NOUNS)
        return f"{noun}s", noun
    kind = chance.random()
    if kind < 0.4:
        name, word = chance.choice(sorted(ONE.items()))
        phrase, inner = call(chance, depth - 1, most, names)
        return f"the {word} {phrase}", f"{name}({inner})"
    if kind < 0.75:
        name, word = chance.choice(sorted(TWO.items()))
        phrase, inner = call(chance, depth - 1, most, names)
        value = chance.choice(names)
        return f"{phrase} {word} {value}", f'{name}({inner}, "{value}")'
    name, word = chance.choice(sorted(MANY.items()))
    parts = [call(chance, depth - 1, most, names)] + [
        call(chance, chance.randint(0, depth - 1), most, names) for _ in range(chance.randint(1, most - 1))
    ]
    return f" {word} ".join(p for p, _ in parts), f"{name}({', '.join(c for _, c in parts)})"


def calls(seed: int, number: int, depths: list[int], most: int, names: list[str]) -> list[tuple[str, str]]:
    chance = random.Random(seed)
    pairs = []
    for _ in range(number):
        phrase, inner = call(chance, chance.choice(depths), most, names)
        pairs.append((f"play {phrase}", f"play({inner})"))
    return pairs


THINGS = ["cake", "table", "house", "dog", "box", "rose", "boat", "chair"]
PEOPLE = ["Emma", "Ava", "Liam", "Noah", "Mia", "Luca"]
GIVE = {"gave": "give", "sold": "sell", "sent": "send", "lent": "lend"}
SAY = {"said": "say", "hoped": "hope", "thought": "think"}


def noun(chance: random.Random, depth: int) -> tuple[str, str]:
    word = chance.choice(THINGS)
    star = chance.random() < 0.5
    phrase, form = ("the " if star else "a ") + word, ("* " if star else "") + word
    if depth > 0:
        where = chance.choice(["on", "in", "beside"])
        inner, below = noun(chance, depth - 1)
        return f"{phrase} {where} {inner}", f"{form} ( nmod . {where} = {below} )"
    return phrase, form


def clause(chance: random.Random, depth: int, inside: int) -> tuple[str, str]:
    person = chance.choice(PEOPLE)
    if depth > 0:
        word, verb = chance.choice(sorted(SAY.items()))
        phrase, form = clause(chance, depth - 1, inside)
        return f"{person} {word} that {phrase}", f"{verb} ( agent = {person} , ccomp = {form} )"
    word, verb = chance.choice(sorted(GIVE.items()))
    thing, theme = noun(chance, chance.randint(0, inside))
    if chance.random() < 0.3:
        return f"{thing} was {word}", f"{verb} ( theme = {theme} )"
    other = chance.choice(PEOPLE)
    return f"{person} {word} {thing} to {other}", f"{verb} ( agent = {person} , theme = {theme} , recipient = {other} )"


def clauses(seed: int, number: int, depths: list[int], inside: int) -> list[tuple[str, str]]:
    chance = random.Random(seed)
    found = [clause(chance, chance.choice(depths), inside) for _ in range(number)]
    return [(f"{phrase} .", form) for phrase, form in found]


def modified(seed: int, number: int, place: str) -> list[tuple[str, str]]:
    """Clauses of giving in which the noun at one place may have a phrase or a relative clause."""
    chance = random.Random(seed)
    return [_modified(chance, place) for _ in range(number)]


def _modified(chance: random.Random, place: str) -> tuple[str, str]:
    word, verb = chance.choice(sorted(GIVE.items()))
    found = {}
    for name in ("agent", "recipient", "theme"):
        phrase, form = noun(chance, chance.randint(0, 1) if name == place else 0)
        if name == place and "(" not in form and chance.random() < 0.6:
            person, (saw, see) = chance.choice(PEOPLE), chance.choice([("saw", "see"), ("took", "take")])
            phrase, form = (
                f"{phrase} that {person} {saw}",
                f"{form} ( nmod = {see} ( agent = {person} , theme = {form} ) )",
            )
        found[name] = phrase, form
    (who, agent), (whom, recipient), (what, theme) = found.values()
    if chance.random() < 0.5:
        return f"{who} {word} {whom} {what}", f"{verb} ( agent = {agent} , recipient = {recipient} , theme = {theme} )"
    return f"{who} {word} {what} to {whom}", f"{verb} ( agent = {agent} , theme = {theme} , recipient = {recipient} )"
