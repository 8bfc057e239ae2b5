"""Any Hugging Face encoder as an encoder of words: contextual states plus static embeddings, equation 2 of the paper.

Both are means over the pieces of a word. Needs the extra `pretrained`, which is imported when such an encoder is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from permparse.base.errors import UserError
from permparse.base.files import model_files
from permparse.nn.batches import SentenceBatch
from permparse.nn.dropout import Dropout
from permparse.nn.encoders import _hub as hub
from permparse.nn.encoders.base import Encoder, EncoderSettings, InputSizes
from permparse.nn.encoders.pieces import Pieces, cut, pooled

CACHED = 512 * 2**20
"""Bytes of frozen states that are kept in memory; those of further sentences are computed again."""


class PretrainedSettings(EncoderSettings):
    """Which pretrained encoder, and how much of it is trained."""

    model: str = ""
    """Name of an encoder on the Hugging Face hub, or its folder; also looked for in the folder that PERMPARSE_MODELS
    names."""
    trained_layers: int | None = Field(default=None, ge=0)
    """How many of its last layers are trained, the others staying as they are; 0 freezes the encoder and computes the
    states of a sentence once; all is trained if not set."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the states of words."""


class PretrainedEncoder(Encoder):
    """A frozen encoder is no part of the weights: a saved parser keeps it as a file, or refers to it if it is large."""

    Settings = PretrainedSettings
    settings: PretrainedSettings

    def __init__(self, settings: PretrainedSettings, sizes: InputSizes) -> None:
        self._set_up(settings, sizes, hub.from_name(settings.model))

    @classmethod
    def from_files(
        cls, settings: EncoderSettings, sizes: InputSizes, files: Mapping[str, bytes], where: str
    ) -> PretrainedEncoder:
        assert isinstance(settings, PretrainedSettings)
        encoder = cls.__new__(cls)
        encoder._set_up(settings, sizes, hub.from_files(files, settings.model, where))
        return encoder

    def _set_up(self, settings: PretrainedSettings, sizes: InputSizes, found: hub.Pretrained) -> None:
        super().__init__(settings, sizes)
        self._found = found
        self._cache: dict[tuple[tuple[str, ...], int], Tensor] = {}
        self._cached = 0
        embeddings = found.model.get_input_embeddings()
        static, hidden = int(embeddings.weight.shape[1]), int(found.model.config.hidden_size)
        self._size = hidden
        self.project = nn.Identity() if static == hidden else nn.Linear(static, hidden)
        self.dropout = Dropout(settings.dropout)
        if not self.frozen:
            self.model = found.model
            _train_last(found.model, settings.trained_layers)

    @property
    def frozen(self) -> bool:
        """Whether nothing of it is trained."""
        return self.settings.trained_layers == 0

    @property
    def size(self) -> int:
        return self._size

    @property
    def contents_size(self) -> int:
        return self._size

    def forward(
        self, sentences: SentenceBatch, contents: Float[Tensor, "B m d"] | None = None
    ) -> Float[Tensor, "B m d"]:
        if sentences.ids.shape[1] == 0:
            return torch.zeros((*sentences.ids.shape, self._size), device=sentences.device)
        states, static = self._frozen_states(sentences) if self.frozen else self._states(sentences)
        known = self.dropout(self.project(static) if contents is None else self.project(static) + contents)
        return (self.dropout(states) + known) * sentences.mask[..., None]

    def _states(self, sentences: SentenceBatch) -> tuple[Tensor, Tensor]:
        """Contextual and static part of all words: the means over their pieces."""
        pieces = cut(self._found.tokenizer, sentences, self._found.longest)
        return self._of_pieces(pieces.to(sentences.device))

    def _of_pieces(self, pieces: Pieces) -> tuple[Tensor, Tensor]:
        model = self._found.model
        states = model(input_ids=pieces.ids, attention_mask=pieces.mask.long()).last_hidden_state
        return pooled(states, pieces), pooled(model.get_input_embeddings()(pieces.ids), pieces)

    @torch.no_grad()
    def _frozen_states(self, sentences: SentenceBatch) -> tuple[Tensor, Tensor]:
        """As `_states`, computed once for every sentence, which alone makes them the same in every batch."""
        self._found.model.eval().to(sentences.device)
        size = sentences.ids.shape[1]
        found = [self._remembered(words, int(n)) for words, n in zip(sentences.words, sentences.lengths, strict=True)]
        padded = [nn.functional.pad(both, (0, 0, 0, size - both.shape[1])) for both in found]
        stacked = torch.stack(padded, 1).to(sentences.device)
        width = int(self._found.model.get_input_embeddings().weight.shape[1])
        return stacked[0], stacked[1, ..., :width]

    def _remembered(self, words: tuple[str, ...], length: int) -> Tensor:
        """Both parts of the states of a sentence, one on top of the other. *Shape:* [2, m, d]"""
        key = words, length
        if key not in self._cache:
            device = next(self._found.model.parameters()).device
            alone = SentenceBatch((words,), torch.zeros((1, length), dtype=torch.int64), torch.tensor([length]))
            states, static = self._states(alone.to(device)) if length else (torch.zeros(1, 0, self._size),) * 2
            wider = nn.functional.pad(static, (0, states.shape[-1] - static.shape[-1]))
            both = torch.cat([states, wider]).cpu()
            if self._cached + both.nbytes > CACHED:
                return both
            self._cache[key], self._cached = both, self._cached + both.nbytes
        return self._cache[key]

    def starting_files(self) -> list[Path]:
        return model_files(self.settings.model)

    def files(self) -> dict[str, bytes]:
        return hub.to_files(self._found, weights=self.frozen)

    def export_obstacle(self) -> str | None:
        return "it cuts words into pieces, for which it needs their text"

    def facts(self) -> list[str]:
        kept = "carries" if hub.carries(self._found) or not self.frozen else "refers to"
        trained = self.settings.trained_layers
        how = "frozen" if trained == 0 else "trained" if trained is None else f"last {trained} layers trained"
        return [f"encoder {Path(self.settings.model).name}, {how}; the parser {kept} it"]


def _train_last(model: nn.Module, count: int | None) -> None:
    """Freeze all but the last layers of an encoder; train all if ``count`` is None."""
    if count is None:
        return
    stacks: list[Any] = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    layers = max(stacks, key=len, default=nn.ModuleList())
    if count > len(layers):
        raise UserError(f"trained_layers = {count}: this encoder has only {len(layers)}")
    model.requires_grad_(False)
    for layer in list(layers)[len(layers) - count :]:
        layer.requires_grad_(True)
