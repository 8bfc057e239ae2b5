"""English tokens as spaCy's rules cut them, the paper's choice for ATIS and Okapi.

"i'd leave at 5pm" ↦ i 'd leave at 5 pm. spaCy is an extra and is imported only when such a task is used.
"""

from collections.abc import Callable
from functools import lru_cache

from permparse.base.errors import UserError


@lru_cache(maxsize=1)
def _tokenizer() -> Callable[[str], list[str]]:
    try:
        import spacy
    except ImportError:
        raise UserError(
            "this task cuts sentences with spaCy, which is not installed; pip install 'permparse[spacy]'"
        ) from None
    rules = spacy.blank("en").tokenizer
    return lambda text: [token.text for token in rules(text) if not token.is_space]


def english_tokens(text: str) -> list[str]:
    """Tokens of an English text; white space is never one."""
    return _tokenizer()(text)
