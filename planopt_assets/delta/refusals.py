"""Errors of object storage in one line, and whether they say anything about what it holds."""

from __future__ import annotations

import re

from planopt_assets.errors import TableUnreachable
from planopt_assets.model.redaction import redact

_REQUEST = re.compile(r"Error performing (?P<verb>[A-Z]+) (?P<url>[^\s?]+)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"\b([1-5]\d\d (?:[A-Z][a-z]+ ?)+)")
_REFUSED = re.compile(
    r"Generic (S3|GCS|MicrosoftAzure) error|Error performing [A-Z]+ http|necessary privileges|loading credentials"
)
_COLOUR = re.compile(r"\x1b\[\d*m")


class StorageRefused(OSError):
    """Object storage did not answer, or refused to. Nothing is known about what it holds."""


def refusal(error: BaseException) -> str:
    """Why storage could not be asked, in one line. Empty: it answered, so the error is about what it holds.

    >>> refusal(OSError("Generic S3 error\\n ↳ Error performing GET http://h/b/x?sig=s in 4ms\\n ↳ 403 Forbidden"))
    'GET http://h/b/x: 403 Forbidden'
    >>> refusal(FileNotFoundError("Object at location x not found\\n ↳ Error performing HEAD http://h/b/x"))
    ''
    >>> refusal(ValueError("Generic DeltaTable error: Invalid JSON in log record, version=3"))
    ''
    """
    if isinstance(error, StorageRefused):
        return str(error)
    if isinstance(error, FileNotFoundError) or not _REFUSED.search(str(error)):
        return ""
    return words_of(error)


def unreachable_table(name: str, location: str, why: str) -> TableUnreachable:
    return TableUnreachable(
        f"{location} was not read: {why}",
        where=f"table {name}",
        fix="check the address, the credentials in the environment and the access, then run again",
    )


def words_of(error: BaseException) -> str:
    """The request, and what was answered or went wrong. Without the query of its URL, which may be signed."""
    text = _COLOUR.sub("", str(error)).partition("\n\nDebug source")[0]
    request = _REQUEST.search(text)
    asked = f"{request['verb']} {request['url']}: " if request else ""
    causes = [found[1].strip() for pattern in (_STATUS, _CODE) if (found := pattern.search(text))]
    lines = [line for part in text.splitlines() if (line := part.strip(" ↳\t"))] or [type(error).__name__]
    return redact(f"{asked}{', '.join(causes) or lines[-1].rpartition(' - ')[2]}")[:300]
