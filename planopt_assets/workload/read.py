"""Bytes of a file to text: there, regular, small enough, UTF-8, and without NUL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planopt_assets.errors import FileNotText, FileTooLarge, FileUnreadable, WorkloadError
from planopt_assets.workload.mistakes import nearest_of

MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file gave no text, as an outcome: the caller knows whose mistake it is."""

    why: str
    fix: str
    kind: type[WorkloadError] = FileUnreadable
    line: int = 0
    column: int = 0
    nearest: str = ""


def read_text(path: str) -> str | Unreadable:
    """The text of a regular file of at most 1 MiB, without its byte order mark.

    >>> read_text("/no/such/file.sql").why
    'there is no such file'
    """
    file = Path(path)
    try:
        if file.is_dir():
            return Unreadable("it is a folder, not a file", "give the path of the file itself")
        if file.exists() and not file.is_file():
            # Opening a pipe or a device may wait for ever.
            return Unreadable("it is not a regular file", "give the path of a regular file")
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        nearest = _nearest_neighbour(path)
        fix = f"write `{nearest}`, or create the file" if nearest else "check the path, or create the file"
        return Unreadable("there is no such file", fix, nearest=nearest)
    except OSError as error:
        return Unreadable(
            f"it cannot be read ({(error.strerror or 'system error').lower()})",
            "check the path and its permissions",
        )
    except ValueError:  # a NUL or a lone surrogate in the path
        return Unreadable("its path is not one a file can have", "give the path of the file")
    if len(data) > MAX_BYTES:
        return Unreadable("it is larger than 1 MiB", "move long SQL into smaller files of its own", FileTooLarge)
    return _decode(data)


def _decode(data: bytes) -> str | Unreadable:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = position_after(data[: error.start].decode("utf-8-sig"))
        return Unreadable(f"it is not UTF-8 (byte {error.start})", "save it as UTF-8", FileNotText, line, column)
    if (nul := text.find("\0")) >= 0:
        line, column = position_after(text[:nul])
        return Unreadable("it holds a NUL character", "remove that character", FileNotText, line, column)
    return text


def position_after(before: str) -> tuple[int, int]:
    """Line and column of what follows this text.

    >>> position_after("one\\ntwo")
    (2, 4)
    """
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _nearest_neighbour(path: str) -> str:
    """The file beside it that the path may have meant: a typo is the most usual reason."""
    wanted = Path(path)
    try:
        return nearest_of(wanted.name, [each.name for each in wanted.parent.iterdir() if each.is_file()])
    except OSError:
        return ""
