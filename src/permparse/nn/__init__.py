"""The networks: encoders of the source, the multiset tagger of stage 1 and the jump scorer of stage 2."""

from permparse.nn.batches import (
    PAD,
    UNK,
    Hint,
    ScorerBatch,
    SourceBatch,
    TaggerBatch,
    TaggerExample,
    scorer_batch,
    source_batch,
    tagger_batch,
)
from permparse.nn.config import EncoderConfig, ScorerConfig, TaggerConfig
from permparse.nn.encoders import BiLSTMEncoder, Encoder, GeometricEncoder, NoContextEncoder, build_encoder
from permparse.nn.geometric import geometric_log_attention
from permparse.nn.jump_scorer import JumpScorer
from permparse.nn.source import SourceNetwork
from permparse.nn.tagger import MultisetTagger, TaggerPrediction, multiset_loss

__all__ = [
    "PAD",
    "UNK",
    "BiLSTMEncoder",
    "Encoder",
    "EncoderConfig",
    "GeometricEncoder",
    "Hint",
    "JumpScorer",
    "MultisetTagger",
    "NoContextEncoder",
    "ScorerBatch",
    "ScorerConfig",
    "SourceBatch",
    "SourceNetwork",
    "TaggerBatch",
    "TaggerConfig",
    "TaggerExample",
    "TaggerPrediction",
    "build_encoder",
    "geometric_log_attention",
    "multiset_loss",
    "scorer_batch",
    "source_batch",
    "tagger_batch",
]
