"""GPT-2 from Hugging Face's hub: from its cache on this machine, or fetched once by whoever is online."""

from __future__ import annotations

import errno
from pathlib import Path

from attention_lab.models import places
from attention_lab.models.door import MissingModel


def gpt2_folder() -> Path:
    """The folder with GPT-2's config, weights (safetensors) and tokenizer; fetched when the cache has them not.

    Raises:
        MissingModel: when they are not in the cache, and the hub does not hand them over.
    """
    found = places.folder_of("gpt2")
    if found is not None:
        return found
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(places.HUB_NAMES[0], allow_patterns=list(places.FILES)))
    except Exception as error:  # the hub's client raises its own errors, httpx's, and OSError
        raise MissingModel(_why(error)) from error


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "there is no room for GPT-2 (550 MB) on this disk: free some, and load it again"
    return (
        "the model 'gpt2' is not on this machine and Hugging Face's hub did not hand it over "
        f"({type(error).__name__}): connect to the internet once and load it again"
    )
