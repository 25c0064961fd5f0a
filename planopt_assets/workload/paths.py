"""Where paths may point: into the workload file's folder and the declared roots, and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters at least: `C:/` is a Windows drive


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """Why a path was refused."""

    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """The folder that relative paths start from, and every folder and URI that a path may lie in.

    >>> bounds = Bounds("/w", folders=("/w",), uris=("s3://lake/sales",))
    >>> bounds.resolve("data/orders"), bounds.resolve("s3://lake/sales/orders/")
    ('/w/data/orders', 's3://lake/sales/orders')
    >>> bounds.resolve("s3://lake/sales_eu").why
    'it is under none of the declared roots'
    """

    folder: str
    folders: tuple[str, ...]
    uris: tuple[str, ...] = ()

    def resolve(self, text: str) -> str | OutOfBounds:
        """The absolute path, symbolic links followed, or the URI; both without a slash at the end."""
        place = locate(self.folder, text)
        if isinstance(place, OutOfBounds):
            return place
        if is_uri(place):
            if any(is_within(place, root, "/") for root in self.uris):
                return place
            fix = f"add `{place}`, or a parent of it, to `roots`"
            return OutOfBounds("it is under none of the declared roots", fix)
        if any(is_within(place, root, os.sep) for root in self.folders):
            return place
        fix = "move it into that folder, or add the folder it lies in to `roots`"
        return OutOfBounds("it leaves the folder of the workload file", fix)


def bounds_of(folder: str, roots: Iterable[str]) -> Bounds:
    """The bounds that a file in `folder` declares; roots that are no places at all are left out."""
    real = os.path.realpath(folder)
    places = [place for root in roots if isinstance(place := locate(real, root), str)]
    uris = tuple(place for place in places if is_uri(place))
    return Bounds(real, (real, *(place for place in places if not is_uri(place))), uris)


def locate(folder: str, text: str) -> str | OutOfBounds:
    """What place a text means, whether or not a path may point there."""
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        return OutOfBounds("it holds a control character", "remove that character")
    if text.startswith("~"):
        return OutOfBounds("`~` is not expanded", "write the folder out")
    if not is_uri(text):
        return os.path.realpath(Path(folder) / text)
    scheme, rest = text.split(":", 1)
    if scheme.lower() == "file":
        return OutOfBounds("it is a `file:` URI", "write the plain path")
    if any(unquote(part) in (".", "..") for part in rest.split("/")):
        return OutOfBounds("a URI may not hold `.` or `..`", "write the URI without them")
    return f"{scheme.lower()}:{rest.rstrip('/')}"


def is_uri(text: str) -> bool:
    return _URI.match(text) is not None


def is_within(place: str, root: str, separator: str) -> bool:
    return place == root or place.startswith(root.rstrip(separator) + separator)


def overlap(one: str, other: str) -> bool:
    """Whether one of two resolved places is the other, or lies inside it.

    >>> overlap("/w/data", "/w/data/orders"), overlap("/w/data", "/w/database")
    (True, False)
    """
    separator = "/" if is_uri(one) else os.sep
    return is_within(one, other, separator) or is_within(other, one, separator)
