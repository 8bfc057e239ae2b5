"""Examples, readers, tokenizers, vocabularies, word vectors, lexicon, producers of tokens, aligner, trigrams,
companions, kinds, succession, origins, relations, recombination."""

from permparse.text.aligner import align
from permparse.text.companions import Companions
from permparse.text.example import Example
from permparse.text.kinds import Kinds
from permparse.text.lexicon import Lexicon, canonical, copies_ignore_case
from permparse.text.origins import NOWHERE, Origins
from permparse.text.producers import LEX, SPECIAL_SYMBOLS, VAR, Copies, Producers, Target, is_variable, unreachable
from permparse.text.reader import Row, clean_sentence, read_tsv
from permparse.text.recombination import Aligned, Recombiner
from permparse.text.relations import Relations
from permparse.text.succession import Succession
from permparse.text.tokenizers import english_tokens
from permparse.text.trigrams import Trigrams
from permparse.text.vectors import Vectors, read_vectors, vector_size
from permparse.text.vocabulary import UNKNOWN, Vocabulary
from permparse.text.writing import Writing

__all__ = [
    "LEX",
    "NOWHERE",
    "SPECIAL_SYMBOLS",
    "UNKNOWN",
    "VAR",
    "Aligned",
    "Companions",
    "Copies",
    "Example",
    "Kinds",
    "Lexicon",
    "Origins",
    "Producers",
    "Recombiner",
    "Relations",
    "Row",
    "Succession",
    "Target",
    "Trigrams",
    "Vectors",
    "Vocabulary",
    "Writing",
    "align",
    "canonical",
    "clean_sentence",
    "copies_ignore_case",
    "english_tokens",
    "is_variable",
    "read_tsv",
    "read_vectors",
    "unreachable",
    "vector_size",
]
