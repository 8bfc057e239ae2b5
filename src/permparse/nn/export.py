"""The tagger as a graph without Python: a program of torch.export, or a model of ONNX, for any batch and length.

In: ids, features and lengths of a `SentenceBatch`. Out: log P(z_iv = k | x), as `MultisetTagger.log_probs`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from tempfile import TemporaryDirectory

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from permparse.base.errors import UserError
from permparse.nn.batches import SentenceBatch
from permparse.nn.tagger import MultisetTagger

INPUTS = ("ids", "features", "lengths")
OUTPUT = "log_probs"


class _Graph(nn.Module):
    """The tagger with plain tensors as arguments."""

    def __init__(self, tagger: MultisetTagger) -> None:
        super().__init__()
        self.tagger = tagger

    def forward(
        self, ids: Int[Tensor, "B m"], features: Int[Tensor, "B m F"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B m V choices"]:
        return self.tagger.log_probs(SentenceBatch((), ids, lengths, features))


def exported_tagger(tagger: MultisetTagger, features: int) -> ExportedProgram:
    """Trace the tagger for batches of any number of sentences of any length, one word at least.

    ``features`` is the number of further features of a word. Raises a UserError if the encoder is no such graph.
    """
    kind = tagger.settings.encoder.kind
    if obstacle := tagger.encoder.export_obstacle():
        raise UserError(f"the encoder {kind} cannot be exported: {obstacle}")
    sizes = [(3, 5), (3, 5, features), (3,)]  # neither 0 nor 1, which torch.export takes for constants
    arguments = tuple(torch.ones(size, dtype=torch.int64, device=tagger.device) for size in sizes)
    batch, length = Dim("batch"), Dim("length")
    shapes = {0: batch, 1: length}, {0: batch, 1: length}, {0: batch}
    try:
        with torch.no_grad(), _quiet():
            return torch.export.export(_Graph(tagger).eval(), arguments, dynamic_shapes=shapes)
    except Exception as error:  # Whatever an encoder of the user's own does, torch.export reports in its own way.
        reason = " ".join(str(error).split("\n")[0].split())
        raise UserError(f"the encoder {kind} cannot be exported: torch.export says {reason}") from error


def as_pt2(program: ExportedProgram, facts: Mapping[str, str]) -> bytes:
    """The file that torch.export.load reads; ``facts`` are its extra files."""
    buffer = BytesIO()
    torch.export.save(program, buffer, extra_files=dict(facts))
    return buffer.getvalue()


def as_onnx(program: ExportedProgram, facts: Mapping[str, str]) -> bytes:
    """The file that onnxruntime reads; ``facts`` are its metadata."""
    try:
        import onnx
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise UserError("export to ONNX needs onnx and onnxscript: pip install 'permparse[onnx]'") from error
    with _quiet(), TemporaryDirectory(prefix="permparse-") as folder:
        made = torch.onnx.export(program, (), dynamo=True, verbose=False, input_names=INPUTS, output_names=[OUTPUT])
        assert made is not None
        made.save(f"{folder}/tagger.onnx", external_data=False)
        model = onnx.load(f"{folder}/tagger.onnx")
    onnx.helper.set_model_props(model, dict(facts))
    return bytes(model.SerializeToString())


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporters say about packages and functions of their own."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
