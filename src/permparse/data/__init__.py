"""Examples, vocabularies, readers, word vectors, the lexicon, the aligner, trigrams and downloads."""

from permparse.data.aligner import Link, align
from permparse.data.downloads import cache_folder, data_files, data_folder, data_sets, download
from permparse.data.example import Example
from permparse.data.lexicon import Lexicon, is_variable
from permparse.data.reader import Row, clean_sentence, read_tsv
from permparse.data.trigrams import Trigrams
from permparse.data.vectors import read_vectors
from permparse.data.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "UNKNOWN",
    "Example",
    "Lexicon",
    "Link",
    "Row",
    "Trigrams",
    "Vocabulary",
    "align",
    "cache_folder",
    "clean_sentence",
    "data_files",
    "data_folder",
    "data_sets",
    "download",
    "is_variable",
    "read_tsv",
    "read_vectors",
]
