"""A spaCy component: `nlp.add_pipe("permparse", config={"model": "fragment"})` puts a parse on every `doc._.parse`.

spaCy finds it by the entry point `spacy_factories`; this module is imported only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from permparse.parsers import Parse, Parser

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

NAME, ATTRIBUTE = "permparse", "parse"
DEFAULT_MODEL = "fragment"


class PermparsePipe:
    """Parses the text of every document; `Doc._.parse` stays None where it cannot be parsed."""

    def __init__(self, parser: Parser, n_best: int = 1) -> None:
        self.parser, self.n_best = parser, n_best

    def __call__(self, doc: Doc) -> Doc:
        return self._parsed([doc])[0]

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Documents in batches, in order."""
        waiting = iter(stream)
        while docs := list(islice(waiting, batch_size)):
            yield from self._parsed(docs)

    def to_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> None:
        """Save the parser with the pipeline."""
        self.parser.save(path)

    def from_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> PermparsePipe:
        """The parser that was saved with the pipeline."""
        self.parser = Parser.load(path)
        return self

    def _parsed(self, docs: list[Doc]) -> list[Doc]:
        for doc, answer in zip(docs, self.parser.parse_each([doc.text for doc in docs], self.n_best), strict=True):
            doc._.set(ATTRIBUTE, answer if isinstance(answer, Parse) else None)
        return docs


def create(nlp: Language, name: str, model: str, n_best: int) -> PermparsePipe:
    """The component that a pipeline asks for."""
    from spacy.tokens import Doc

    if not Doc.has_extension(ATTRIBUTE):
        Doc.set_extension(ATTRIBUTE, default=None)
    return PermparsePipe(Parser.load(model), n_best)


def _register() -> None:
    from spacy.language import Language

    Language.factory(NAME, default_config={"model": DEFAULT_MODEL, "n_best": 1}, func=create)


_register()
