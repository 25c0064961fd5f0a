"""Can a folder be written? Checked before the work starts."""

from __future__ import annotations

import os
from pathlib import Path

from planopt_assets.errors import FolderNotWritable
from planopt_assets.model.location import is_folder


def check_writable(folder: str | Path, what: str) -> None:
    """Raise if a folder, or its nearest parent that exists, cannot be written. A URI is not checked."""
    if not is_folder(str(folder)):
        return
    path = Path(folder).absolute()
    above = next(p for p in (path, *path.parents) if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise not_writable(path, what)


def not_writable(path: Path, what: str) -> FolderNotWritable:
    return FolderNotWritable(
        f"{what} cannot be written there", where=str(path), fix="check permissions and space, or name another folder"
    )
