"""The networks: encoders of sentences, the multiset tagger and the jump scorer."""

from permparse.nn.batches import (
    PAD,
    UNK,
    ScorerBatch,
    Sentence,
    SentenceBatch,
    TaggerBatch,
    TaggerExample,
    scorer_batch,
    sentence_batch,
    tagger_batch,
)
from permparse.nn.encoders import (
    Encoder,
    EncoderSettings,
    InputSizes,
    WordEncoder,
    WordTable,
    build_encoder,
    restore_encoder,
)
from permparse.nn.geometric import geometric_log_attention
from permparse.nn.jump_scorer import JumpScorer, saturated
from permparse.nn.settings import ScorerSettings, TaggerSettings
from permparse.nn.tagger import MultisetTagger, multiset_loss

__all__ = [
    "PAD",
    "UNK",
    "Encoder",
    "EncoderSettings",
    "InputSizes",
    "JumpScorer",
    "MultisetTagger",
    "ScorerBatch",
    "ScorerSettings",
    "Sentence",
    "SentenceBatch",
    "TaggerBatch",
    "TaggerExample",
    "TaggerSettings",
    "WordEncoder",
    "WordTable",
    "build_encoder",
    "geometric_log_attention",
    "multiset_loss",
    "restore_encoder",
    "saturated",
    "scorer_batch",
    "sentence_batch",
    "tagger_batch",
]
