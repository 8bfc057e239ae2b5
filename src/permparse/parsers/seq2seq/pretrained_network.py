"""A Hugging Face encoder–decoder behind our interface, and the files it is made from.

transformers is an extra and is imported where it is used. Weights are read from safetensors only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from permparse.base.errors import UserError
from permparse.nn.decoders import Rows, Seq2Seq, SourceBatch


@dataclass(frozen=True)
class Encoded(Rows):
    """The states of the sources."""

    states: Float[Tensor, "B m d"]
    mask: Bool[Tensor, "B m"]


@dataclass(frozen=True)
class Prefix(Rows):
    """The tokens so far, with the start token."""

    ids: Int[Tensor, "N t"]


class PretrainedSeq2Seq(Seq2Seq):
    """P(y | x) by a pretrained network. It sees all tokens so far again at each step, which works with any network."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.start_id, self.end_id = int(model.config.decoder_start_token_id), int(model.config.eos_token_id)

    def encode(self, source: SourceBatch) -> Encoded:
        mask = source.sentences.mask
        states = self.model.get_encoder()(input_ids=source.sentences.ids, attention_mask=mask.long())
        return Encoded(states.last_hidden_state, mask)

    def start(self, memory: Encoded) -> Prefix:
        return Prefix(torch.zeros(len(memory.mask), 0, dtype=torch.int64, device=memory.mask.device))

    def advance(
        self, memory: Encoded, state: Prefix, previous: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, "N V"], Prefix]:
        ids = torch.cat([state.ids, previous[:, None]], 1)
        return self._decoded(memory, ids)[:, -1], Prefix(ids)

    def log_probs(self, memory: Encoded, target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        first = torch.full_like(target[:, :1], self.start_id)
        return self._decoded(memory, torch.cat([first, target[:, :-1]], 1))

    def _decoded(self, memory: Encoded, ids: Int[Tensor, "N t"]) -> Float[Tensor, "N t V"]:
        found = self.model(
            encoder_outputs=(memory.states,),
            attention_mask=memory.mask.long(),
            decoder_input_ids=ids,
            use_cache=False,
        )
        return found.logits.log_softmax(-1)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Every weight once: tied ones go by their first name."""
        unique: dict[tuple[int, int], str] = {}
        state = super().state_dict(*args, **kwargs)
        return {
            name: tensor
            for name, tensor in state.items()
            if unique.setdefault((tensor.data_ptr(), tensor.numel()), name) == name or not tensor.numel()
        }

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Tied weights follow by themselves; `load_weights` has compared the names of all others."""
        return super().load_state_dict(state_dict, strict=False, assign=False)


def transformers() -> Any:
    """The library; UserError if it is not installed."""
    try:
        import transformers as library
    except ImportError as error:
        raise UserError(
            "a pretrained encoder–decoder needs transformers: pip install 'permparse[pretrained]'"
        ) from error
    return library


def from_hub(name: str) -> tuple[Any, PretrainedSeq2Seq]:
    """Tokenizer and network of this name, or from a folder; UserError if there are none."""
    library = transformers()
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name)
        model = library.AutoModelForSeq2SeqLM.from_pretrained(name, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"model = {name!r}: no encoder–decoder with safetensors is found there ({reason}); give the name of a "
            "model on the Hugging Face hub, such as facebook/bart-base, or a folder that save_pretrained wrote"
        ) from error
    return tokenizer, PretrainedSeq2Seq(model)


def to_files(tokenizer: Any, network: PretrainedSeq2Seq) -> dict[str, bytes]:
    """All that describes tokenizer and network, but for the weights."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        network.model.config.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir()) if path.is_file()}


def from_files(files: Mapping[str, bytes], where: str) -> tuple[Any, PretrainedSeq2Seq]:
    """The inverse of `to_files`; the weights are random."""
    library = transformers()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / Path(name).name).write_bytes(content)
        try:
            config = library.AutoConfig.from_pretrained(folder)
            tokenizer = library.AutoTokenizer.from_pretrained(folder)
            return tokenizer, PretrainedSeq2Seq(library.AutoModelForSeq2SeqLM.from_config(config))
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{where}: tokenizer or configuration cannot be read ({error})") from error
