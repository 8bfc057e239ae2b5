"""Parsers in Hugging Face repositories: downloaded as a snapshot, uploaded in one commit with their card."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from permparse.base.errors import UserError
from permparse.parsers.sharing.archive import CARD

if TYPE_CHECKING:
    from permparse.parsers.base import Parser

PREFIX = "hf://"


def download(repository: str) -> Path:
    """The snapshot of a repository, owner/name or owner/name@revision, in the cache of huggingface_hub."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise UserError("loading from a repository needs huggingface_hub: pip install 'permparse[hub]'") from error
    name, _, revision = repository.partition("@")
    try:
        return Path(snapshot_download(name, revision=revision or None))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise UserError(f"{PREFIX}{repository}: cannot be downloaded ({_reason(error)})") from error


def push(parser: Parser, repository: str, card: str, private: bool = False, token: str | None = None) -> str:
    """Upload a parser and its card in one commit, creating the repository if need be; the address of the commit."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise UserError("uploading to a repository needs huggingface_hub: pip install 'permparse[hub]'") from error
    api = HfApi(token=token)
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        with TemporaryDirectory(prefix="permparse-") as folder:
            parser.save(folder)
            (Path(folder) / CARD).write_text(card, encoding="utf-8")
            commit = api.upload_folder(
                repo_id=repository,
                folder_path=folder,
                commit_message="Upload a parser of permparse",
                delete_patterns=["*-????????.*"],
            )
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
        raise UserError(f"{PREFIX}{repository}: cannot be uploaded ({_reason(error)})") from error
    return str(commit.commit_url)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
