"""Pretrained encoders and their tokenizers from the Hugging Face hub, a folder, or the files of a saved parser.

The one file that knows the library `transformers`.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from permparse.base.errors import UserError
from permparse.base.files import MODELS, located
from permparse.base.storage import load_weights, pack, unpack

PREFIX = "pretrained_"
WEIGHTS, REFERENCE = f"{PREFIX}weights.safetensors", f"{PREFIX}reference.json"
CARRIED = 200 * 2**20
"""A frozen encoder of up to so many bytes is saved with the parser; of a larger one it keeps name and checksum."""
NO_LIMIT = 10**6
"""Tokenizers that know no longest input name a larger number."""


@dataclass(frozen=True)
class Pretrained:
    """An encoder, its tokenizer, and how many pieces it can read at once."""

    model: Any
    tokenizer: Any
    longest: int


def from_name(name: str) -> Pretrained:
    """The encoder of a folder or of that name on the hub, with its weights."""
    if not name:
        raise UserError("encoder.model is not set: expected the folder of a pretrained encoder, or its name on the hub")
    where = located(name)
    found = str(where) if where.is_dir() else name
    transformers = _library()
    try:
        model = _bare(transformers.AutoModel.from_pretrained(found, local_files_only=where.is_dir()))
        tokenizer = _tokenizer(transformers, found, where.is_dir())
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"encoder.model = {name!r}: neither the folder of a pretrained encoder nor to be had from the Hugging Face "
            f"hub ({_first_line(error)}); without a network, give its folder, or put it into the folder that {MODELS} "
            "names"
        ) from error
    return Pretrained(model, tokenizer, _longest(model, tokenizer))


def from_files(files: Mapping[str, bytes], name: str, where: str) -> Pretrained:
    """The encoder of a saved parser, which needs no hub; weights that were trained are not yet in it."""
    transformers = _library()
    with tempfile.TemporaryDirectory() as folder:
        for file in files.keys() - {WEIGHTS, REFERENCE}:
            (Path(folder) / file.removeprefix(PREFIX)).write_bytes(files[file])
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = _tokenizer(transformers, folder, True)
    if REFERENCE in files:
        model = from_name(name).model
        if _digest(model) != json.loads(files[REFERENCE])["sha256"]:
            raise UserError(f"{where}: refers to another encoder than {name} is now; put the original one back")
    else:
        model = _bare(transformers.AutoModel.from_config(config))
    if WEIGHTS in files:
        load_weights(model, unpack(files[WEIGHTS]), where)
    return Pretrained(model, tokenizer, _longest(model, tokenizer))


def to_files(found: Pretrained, weights: bool) -> dict[str, bytes]:
    """The files that `from_files` needs: settings and tokenizer, and with ``weights`` those or a reference to them."""
    with tempfile.TemporaryDirectory() as folder:
        found.model.config.save_pretrained(folder)
        found.tokenizer.save_pretrained(folder)
        files = {f"{PREFIX}{path.name}": path.read_bytes() for path in sorted(Path(folder).iterdir())}
    if weights and carries(found):
        files[WEIGHTS] = pack(found.model.state_dict())
    elif weights:
        files[REFERENCE] = json.dumps({"sha256": _digest(found.model)}).encode()
    return files


def carries(found: Pretrained) -> bool:
    """Whether the frozen encoder is small enough to be saved with the parser."""
    return sum(p.nbytes for p in found.model.parameters()) <= CARRIED


def _bare(model: Any) -> Any:
    """The encoder in float32, without the layer some have for whole sentences, which is often untrained."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model.float().eval()


def _tokenizer(transformers: Any, found: str, local: bool) -> Any:
    """The fast tokenizer, which knows the word of every piece; all words but the first follow a blank."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(found, local_files_only=local, add_prefix_space=True)
    if not tokenizer.is_fast:
        raise UserError(f"{found}: has no fast tokenizer, which tells to which word a piece belongs")
    return tokenizer


def _longest(model: Any, tokenizer: Any) -> int:
    """How many pieces the encoder can read at once. RoBERTa and its kin count positions from behind their padding."""
    limit = int(getattr(model.config, "max_position_embeddings", NO_LIMIT) or NO_LIMIT)
    return max(8, min(limit - 2, int(tokenizer.model_max_length), NO_LIMIT))


def _digest(model: Any) -> str:
    return hashlib.sha256(pack(model.state_dict())).hexdigest()


def _library() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise UserError(
            "a pretrained encoder needs the library transformers: pip install 'permparse[pretrained]'"
        ) from error
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return transformers


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
