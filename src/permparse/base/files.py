"""Where files lie that a recipe names, such as word vectors and pretrained encoders, and those that are kept for later.

A name that is not found as it stands is looked for in the folder that the environment variable PERMPARSE_MODELS names.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

MODELS = "PERMPARSE_MODELS"
MODEL_FILES = (".bin", ".json", ".model", ".safetensors", ".txt")
"""How the files of a pretrained model end."""


def located(path: Path | str) -> Path:
    """The file or folder of that name: as it stands, or else in the folder of models; unchanged if it is in neither."""
    path = Path(path).expanduser()
    folder = os.environ.get(MODELS)
    if folder and not path.exists() and (Path(folder) / path).exists():
        return Path(folder) / path
    return path


def model_files(name: Path | str) -> list[Path]:
    """Settings, weights and tokenizer of a pretrained model in a folder; none if the name is not that of a folder."""
    folder = located(name)
    found = sorted(folder.iterdir()) if str(name) and folder.is_dir() else []
    return [path for path in found if path.suffix in MODEL_FILES and path.is_file()]


def cache_folder() -> Path:
    """Where downloads and the scores of trials are kept: PERMPARSE_CACHE, or ~/.cache/permparse."""
    chosen = os.environ.get("PERMPARSE_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "permparse"


def digest(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
