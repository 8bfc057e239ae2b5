"""Questions about places in seven notations: what a parser makes of the same questions depends on the notation alone.

    python benchmarks/notations.py data/places
    permparse train data/places/calls/train.tsv --option dev=data/places/calls/dev.tsv --seed 0 --output runs/calls
    permparse evaluate runs/calls --file data/places/calls/test.tsv

Each folder holds train.tsv (600), dev.tsv and test.tsv: nested calls (`calls`), clauses over variables (`clauses`),
lambda terms (`lambda`), nested queries (`queries`), JSON (`records`), bracketed frames (`frames`) and triples
(`triples`). Training nests at most two phrases, half of the test questions three or four; some names are in the test
file alone.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TRAIN, DEV, TEST = 600, 80, 400
SHALLOW, DEEP = (0, 1, 1, 2, 2), (3, 4)
NAMES = {
    "state": ["texas", "ohio", "utah", "new york", "rhode island", "iowa", "maine", "nevada", "north dakota", "kansas"],
    "city": ["austin", "salt lake city", "boston", "dallas", "seattle", "fort wayne", "tulsa", "san jose"],
    "river": ["red", "ohio", "missouri", "rio grande", "snake", "hudson", "pearl"],
}
NEW_NAMES = {"state": ["oregon", "south carolina"], "city": ["des moines", "reno"], "river": ["platte", "green"]}
PLURALS = {"state": ["states"], "city": ["cities", "towns"], "river": ["rivers"]}
RELATIONS = {
    "state": [
        ("next_to", "state", ["that border {}", "bordering {}", "next to {}", "that are adjacent to {}"]),
        ("traversed_by", "river", ["through which {} runs", "that {} flows through", "crossed by {}"]),
        ("contains", "city", ["that contain {}", "with {} in them"]),
    ],
    "city": [("located_in", "state", ["in {}", "located in {}", "of {}"])],
    "river": [
        ("traverses", "state", ["that run through {}", "in {}", "traversing {}"]),
        ("passes", "city", ["that pass {}", "going by {}"]),
    ],
}
BEST = {
    "state": [("largest", "area", ["largest", "biggest"]), ("smallest", "population", ["least populous"])],
    "city": [("largest", "population", ["largest", "most populous"]), ("smallest", "area", ["smallest"])],
    "river": [("largest", "length", ["longest"]), ("smallest", "length", ["shortest"])],
}
FIGURES = {
    "state": [
        ("population", ["how many people live in {}", "what is the population of {}"]),
        ("area", ["how large is {}"]),
    ],
    "city": [("population", ["how many inhabitants does {} have", "what is the population of {}"])],
    "river": [("length", ["how long is {}", "what is the length of {}"])],
}


@dataclass(frozen=True)
class Name:
    """A thing by its name."""

    kind: str
    name: str


@dataclass(frozen=True)
class Those:
    """All things of a kind that stand in each of these relations to other things."""

    kind: str
    relations: tuple[tuple[str, Thing], ...]


@dataclass(frozen=True)
class Best:
    """The one of these that has most or least of something."""

    which: str
    figure: str
    of: Thing


@dataclass(frozen=True)
class Asked:
    """How many these are (``figure`` count), or a figure of one."""

    figure: str
    of: Thing


Thing = Name | Those | Best | Asked


class Speaker:
    """Makes up things and what to call them."""

    def __init__(self, chance: random.Random, names: dict[str, list[str]]) -> None:
        self.chance, self.names = chance, names

    def question(self, depth: int) -> tuple[str, Thing]:
        kind = self.chance.choice([*PLURALS])
        draw = self.chance.random()
        if draw < 0.2:
            phrase, thing = self.those(kind, max(1, depth))
            return self.chance.choice([f"how many {phrase} are there", f"count the {phrase}"]), Asked("count", thing)
        if draw < 0.4:
            figure, ways = self.chance.choice(FIGURES[kind])
            phrase, thing = self.one(kind, depth)
            return self.chance.choice(ways).format(phrase), Asked(figure, thing)
        if draw < 0.6 and depth:
            phrase, thing = self.best(kind, depth)
            return self.chance.choice(["what is {}", "which one is {}", "name {}"]).format(phrase), thing
        phrase, thing = self.those(kind, max(1, depth))
        return self.chance.choice(["what {}", "which {}", "give me the {}", "what are the {}"]).format(phrase), thing

    def one(self, kind: str, depth: int) -> tuple[str, Thing]:
        """One thing, and what it is called."""
        if depth:
            return self.best(kind, depth)
        name = self.chance.choice(self.names[kind])
        before, after = {"river": ("the ", " river"), "state": ("", ""), "city": ("", "")}[kind]
        return f"{before}{name}{after}", Name(kind, name)

    def best(self, kind: str, depth: int) -> tuple[str, Thing]:
        which, figure, ways = self.chance.choice(BEST[kind])
        if depth == 1 and self.chance.random() < 0.5:
            return f"the {self.chance.choice(ways)} {kind}", Best(which, figure, Those(kind, ()))
        (relation, other), phrase = self.relation(kind, depth - 1)
        return f"the {self.chance.choice(ways)} {kind} {phrase}", Best(which, figure, Those(kind, ((relation, other),)))

    def those(self, kind: str, depth: int) -> tuple[str, Thing]:
        number = 2 if self.chance.random() < 0.25 and len(RELATIONS[kind]) > 1 else 1
        depths = [depth - 1, 0][:number]
        found = [self.relation(kind, inside) for inside in depths]
        phrase = " and ".join(text for _, text in reversed(found))
        return f"{self.chance.choice(PLURALS[kind])} {phrase}", Those(kind, tuple(r for r, _ in reversed(found)))

    def relation(self, kind: str, depth: int) -> tuple[tuple[str, Thing], str]:
        relation, other, ways = self.chance.choice(RELATIONS[kind])
        if depth and self.chance.random() < 0.5:
            phrase, thing = self.those(other, depth)
            phrase = self.chance.choice(["the ", ""]) + phrase
        else:
            phrase, thing = self.one(other, depth)
        return (relation, thing), self.chance.choice(ways).format(phrase)


def calls(thing: Thing) -> str:
    """answer(state(next_to(stateid('texas'))))"""
    return f"answer({_call(thing)})"


def _call(thing: Thing) -> str:
    match thing:
        case Name(kind, name):
            return f"{kind}id('{name}')"
        case Those(kind, ()):
            return f"{kind}(all)"
        case Those(kind, relations):
            parts = [f"{relation}({_call(other)})" for relation, other in relations]
            return f"{kind}({parts[0] if len(parts) == 1 else 'intersection({})'.format(', '.join(parts))})"
        case Best(which, figure, of):
            return f"{which}({figure}({_call(of)}))"
        case Asked(figure, of):
            return f"{figure}({_call(of)})"


class Variables:
    """Names of variables in the order in which they are needed."""

    def __init__(self, pattern: str, first: int) -> None:
        self.pattern, self.next = pattern, first

    def new(self) -> str:
        self.next += 1
        number = self.next - 1
        return chr(ord("A") + number) if self.pattern == "A" else f"{self.pattern}{number}"


def clauses(thing: Thing) -> str:
    """answer(A,(state(A),next_to(A,B),const(B,stateid(texas))))"""
    names = Variables("A", 0)
    first = names.new()
    return f"answer({first},{_grouped(_clauses(thing, first, names))})"


def _grouped(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({','.join(parts)})"


def _clauses(thing: Thing, of: str, names: Variables) -> list[str]:
    match thing:
        case Name(kind, name):
            return [f"const({of},{kind}id({_underscored(name)}))"]
        case Those(kind, relations):
            found = [f"{kind}({of})"]
            for relation, other in relations:
                another = names.new()
                found += [f"{relation}({of},{another})", *_clauses(other, another, names)]
            return found
        case Best(which, figure, inner):
            value = names.new()
            return [f"{which}({value},{_grouped([*_clauses(inner, of, names), f'{figure}({of},{value})'])})"]
        case Asked("count", inner):
            counted = names.new()
            return [f"count({counted},{_grouped(_clauses(inner, counted, names))},{of})"]
        case Asked(figure, inner):
            owner = names.new()
            return [f"{figure}({owner},{of})", *_clauses(inner, owner, names)]


def lambdas(thing: Thing) -> str:
    """( lambda $0 e ( and ( state:t $0 ) ( next_to:t $0 texas:s ) ) )"""
    return _term(thing, Variables("$", 0))


def _term(thing: Thing, names: Variables) -> str:
    match thing:
        case Name(kind, name):
            return f"{_underscored(name)}:{kind[0]}"
        case Those():
            of = names.new()
            return f"( lambda {of} e {_condition(thing, of, names)} )"
        case Best(which, figure, inner):
            of = names.new()
            name = "argmax" if which == "largest" else "argmin"
            return f"( {name} {of} {_condition(inner, of, names)} ( {figure}:i {of} ) )"
        case Asked("count", inner):
            of = names.new()
            return f"( count {of} {_condition(inner, of, names)} )"
        case Asked(figure, inner):
            return f"( {figure}:i {_term(inner, names)} )"


def _condition(thing: Thing, of: str, names: Variables) -> str:
    if not isinstance(thing, Those):
        return f"( = {of} {_term(thing, names)} )"
    parts = [f"( {thing.kind}:t {of} )"]
    for relation, other in thing.relations:
        if isinstance(other, Those):
            inner = names.new()
            parts.append(f"( exists {inner} ( and {_condition(other, inner, names)} ( {relation}:t {of} {inner} ) ) )")
        else:
            parts.append(f"( {relation}:t {of} {_term(other, names)} )")
    return parts[0] if len(parts) == 1 else f"( and {' '.join(parts)} )"


def queries(thing: Thing) -> str:
    """SELECT name FROM state WHERE name IN ( SELECT next_to FROM border WHERE state = "texas" ) ;"""
    return f"{_select(thing)} ;"


def _select(thing: Thing) -> str:
    match thing:
        case Name(kind, name):
            return f'SELECT name FROM {kind} WHERE name = "{name}"'
        case Those(kind, relations):
            found = " AND ".join(f"{relation} {_values(other)}" for relation, other in relations)
            return f"SELECT name FROM {kind}" + (f" WHERE {found}" if found else "")
        case Best(which, figure, inner):
            order = "DESC" if which == "largest" else "ASC"
            return f"{_select(inner)} ORDER BY {figure} {order} LIMIT 1"
        case Asked("count", inner):
            return _select(inner).replace("SELECT name", "SELECT COUNT ( name )", 1)
        case Asked(figure, inner):
            return _select(inner).replace("SELECT name", f"SELECT {figure}", 1)


def _values(thing: Thing) -> str:
    return f'= "{thing.name}"' if isinstance(thing, Name) else f"IN ( {_select(thing)} )"


def records(thing: Thing) -> str:
    """{"find": "state", "next_to": {"find": "state", "name": "texas"}}"""
    return json.dumps(_record(thing))


def _record(thing: Thing) -> dict[str, object]:
    match thing:
        case Name(kind, name):
            return {"find": kind, "name": name}
        case Those(kind, relations):
            return {"find": kind} | {relation: _record(other) for relation, other in relations}
        case Best(which, figure, of):
            return _record(of) | {"sort": figure, "first": which == "largest"}
        case Asked(figure, of):
            return {"show": figure, "of": _record(of)}


def frames(thing: Thing) -> str:
    """[IN:FIND_STATE [SL:NEXT_TO [IN:FIND_STATE [SL:NAME texas ] ] ] ]"""
    return f"[IN:{_frame(thing)} ]"


def _frame(thing: Thing) -> str:
    match thing:
        case Name(kind, name):
            return f"FIND_{kind.upper()} [SL:NAME {name} ]"
        case Those(kind, relations):
            return f"FIND_{kind.upper()}" + "".join(f" [SL:{r.upper()} [IN:{_frame(o)} ] ]" for r, o in relations)
        case Best(which, figure, of):
            return f"{_frame(of)} [SL:ORDER {which} {figure} ]"
        case Asked(figure, of):
            return f"GET_{figure.upper()} [SL:OF [IN:{_frame(of)} ] ]"


def triples(thing: Thing) -> str:
    """SELECT ?x0 WHERE { ?x0 a state . ?x0 next_to ?x1 . ?x1 a state . ?x1 name 'texas' }"""
    names = Variables("?x", 0)
    first = names.new()
    asked = f"( COUNT ( {first} ) AS ?n )" if isinstance(thing, Asked) and thing.figure == "count" else first
    return f"SELECT {asked} WHERE {{ {' . '.join(_triples(thing, first, names))} }}"


def _triples(thing: Thing, of: str, names: Variables) -> list[str]:
    match thing:
        case Name(kind, name):
            return [f"{of} a {kind}", f"{of} name '{name}'"]
        case Those(kind, relations):
            found = [f"{of} a {kind}"]
            for relation, other in relations:
                another = names.new()
                found += [f"{of} {relation} {another}", *_triples(other, another, names)]
            return found
        case Best(which, figure, inner):
            return [*_triples(inner, of, names), f"FILTER ( {of} {which} {figure} )"]
        case Asked("count", inner):
            return _triples(inner, of, names)
        case Asked(figure, inner):
            owner = names.new()
            return [f"{owner} {figure} {of}", *_triples(inner, owner, names)]


def _underscored(name: str) -> str:
    return name.replace(" ", "_")


NOTATIONS: dict[str, Callable[[Thing], str]] = {
    "calls": calls,
    "clauses": clauses,
    "lambda": lambdas,
    "queries": queries,
    "records": records,
    "frames": frames,
    "triples": triples,
}


def questions(seed: int, number: int, depths: tuple[int, ...], names: dict[str, list[str]]) -> dict[str, Thing]:
    """Different questions, each with what it asks for."""
    chance = random.Random(seed)
    speaker = Speaker(chance, names)
    found: dict[str, Thing] = {}
    while len(found) < number:
        question, thing = speaker.question(chance.choice(depths))
        found[f"{question} ?"] = thing
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description="Write the questions in every notation, a folder each.")
    arguments.add_argument("folder", type=Path)
    folder: Path = arguments.parse_args().folder
    every = {kind: [*names, *NEW_NAMES[kind]] for kind, names in NAMES.items()}
    seen = questions(1, TRAIN + DEV, SHALLOW, NAMES)
    shallow = {q: thing for q, thing in questions(2, TEST, SHALLOW, every).items() if q not in seen}
    deep = questions(3, TEST // 2, DEEP, every)
    pairs = list(seen.items())
    files = {
        "train": [(*pair, "") for pair in pairs[:TRAIN]],
        "dev": [(*pair, "") for pair in pairs[TRAIN:]],
        "test": [(*p, "as nested as in training") for p in list(shallow.items())[: TEST // 2]]
        + [(*p, "nested deeper") for p in deep.items()],
    }
    for name, write in NOTATIONS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file, rows in files.items():
            lines = ("\t".join(filter(None, (question, write(thing), group))) for question, thing, group in rows)
            (folder / name / f"{file}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
