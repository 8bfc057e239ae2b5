"""Split sentences into tokens: at blanks, into words and signs, or by spaCy's English rules.

spaCy, the paper's choice for ATIS and Okapi, is an extra and is imported only when it is used.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from permparse.base.errors import UserError, nearest

WORD = r"[$#@]?\w(?:\w|[^\w\s'’](?=\w)|['’](?=\w{3}))*"
"""A word, with signs inside it but without a clitic at its end: 10-12, o'clock, Ana of Ana's."""
CLITIC = r"['’]\w{1,2}(?!\w)"
_WORDS = re.compile(rf"{WORD}|{CLITIC}|\S")


def blank_tokens(text: str) -> list[str]:
    """Tokens between blanks."""
    return text.split()


def word_tokens(text: str) -> list[str]:
    """Words and signs: "Ana's category." ↦ Ana 's category ."""
    return _WORDS.findall(text)


def english_tokens(text: str) -> list[str]:
    """Tokens of an English text by spaCy's rules; white space is never one. "i'd leave at 5pm" ↦ i 'd leave at 5 pm."""
    return _spacy()(text)


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "words": word_tokens,
    "blanks": blank_tokens,
    "spacy": english_tokens,
}


def tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokenizer of that name; UserError, with the nearest valid name, if there is none."""
    if name not in TOKENIZERS:
        raise UserError(f"no tokenizer is called {name!r}; {nearest(name, TOKENIZERS)}")
    return TOKENIZERS[name]


@lru_cache(maxsize=1)
def _spacy() -> Callable[[str], list[str]]:
    try:
        import spacy
    except ImportError:
        raise UserError("spaCy cuts these sentences and is not installed; pip install 'permparse[spacy]'") from None
    rules = spacy.blank("en").tokenizer
    return lambda text: [token.text for token in rules(text) if not token.is_space]
