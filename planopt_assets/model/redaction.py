"""Hides secrets. Every text for a table, a log or a report passes `redact`.

A value is secret if the name of its setting or parameter says so (`…password…`, `…token…`), if it is the credential in
a URL, or if the query marks it: `WHERE key = /* secret */ 'k-93fa'`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

HIDDEN = "***"
SHORTEST = 4
"""Shorter secrets are not accepted, because they cannot be told apart from ordinary text."""

_ORDINARY = ("true", "false", "null", "none")
_SECRET_NAME = re.compile(
    r"secret|passw|passphrase|pwd|token|credential|\bsas\b"
    r"|(access|account|api|encryption|master|private|pvt|signing)[._-]?key",
    re.IGNORECASE,
)
# `token_count` and `credentials.provider` are about a secret, but are not secret.
_ABOUT = (
    "class|count|enabled|endpoint|expiry|file|interval|length|limit|location|name|number|path|provider|size|ttl|type"
    "|uri|url"
)
_ABOUT_A_SECRET = re.compile(rf"([._-](?i:({_ABOUT})s?)|({_ABOUT.title()})s?)$")

_QUOTED = r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*\""""
_MARK = re.compile(r"/\*\s*secret\s*\*/", re.IGNORECASE)
_LITERAL = re.compile(rf"\s*(?:[A-Za-z]\w*\s*)?((?:(?:{_QUOTED})\s*)+)|\s*([-+]?\.?\d[\w.]*)", re.DOTALL)

_USER_INFO = re.compile(r"(?<=://)[^/\s:@'\"?;]*:[^/\s'\"?;]+(?=@)|(?:(?<=http://)|(?<=https://))[^/\s:@'\"?;]+(?=@)")
_ORACLE = re.compile(r"""(\bjdbc:oracle:\w+:)[^\s'",@/]+/(?:\\?"[^"]*"|[^\s'",]+)(?=@)""", re.IGNORECASE)
_PARAMETER = re.compile(r"(?<=[?&;])([\w.-]+)=(\{(?:[^}]|\}\})*\}|[^&;\s'\"]+)")
_ASSIGNED = re.compile(r"(?<![\w.?&;-])([\w.-]+)=([^&;,\s'\"(){}\[\]]+)")
_CREDENTIAL_PARAMETER = re.compile(r"user(name)?|uid|key|sig|[\w-]*signature", re.IGNORECASE)
_BEARER = re.compile(
    r"(\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:basic|bearer|digest|token)\s+)[^\s'\",;]+"
    r"|(\bbearer\s+)(?=\S*\d)[\w.~+/=-]{16,}",
    re.IGNORECASE,
)
# Keys with a known format: AWS key ids, JSON web tokens, Databricks and GitHub tokens.
_BY_LOOK = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\beyJ[\w-]{8,}\.eyJ[\w-]+\.[\w-]*|\bdapi[0-9a-f]{32}\b|\bgh[pousr]_\w{36,}"
)

_SHORTEST_LOOK = 20

# planopt's own ids are kept: a short secret may occur in one by chance, and hiding it would break links between rows.
_OWN_ID = r"\b[a-z]{3}(?:_[0-9a-f]{16}\b|-[0-9a-f]{12}(?=-))"
_BY_CHANCE = 12
_known: set[str] = set()


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """
    >>> is_secret_name("spark.hadoop.fs.s3a.secret.key"), is_secret_name("spark.sql.shuffle.partitions")
    (True, False)
    >>> is_secret_name("token"), is_secret_name("token_count")
    (True, False)
    """
    return _SECRET_NAME.search(name) is not None and _ABOUT_A_SECRET.search(name) is None


def can_be_hidden(value: str) -> bool:
    """Whether this text can be hidden everywhere without hiding ordinary text.

    >>> can_be_hidden("hunter2"), can_be_hidden("abc"), can_be_hidden("true")
    (True, False, False)
    """
    return len(value.strip()) >= SHORTEST and value.lower() not in _ORDINARY


def marked_literals(sql: str) -> tuple[str, ...]:
    """The literals that a query marks as secret, without quotes. A mark without a literal gives an empty text.

    >>> marked_literals("SELECT 1 WHERE k = /* secret */ 'k-93fa' AND n = /*secret*/ 77001 AND /* secret */ f(x)")
    ('k-93fa', '77001', '')
    """
    found: list[str] = []
    for mark in _MARK.finditer(sql):
        literal = _LITERAL.match(sql, mark.end())
        if literal is None:
            found.append("")
        elif literal[2]:
            found.append(literal[2])
        else:  # Spark concatenates adjacent literals
            found += [quoted[1:-1] for quoted in re.findall(_QUOTED, literal[1], re.DOTALL)]
    return tuple(found)


def url_passwords(text: str) -> tuple[str, ...]:
    """The passwords in the URLs of a text. User names are left out, because they occur in other texts too.

    >>> url_passwords("jdbc:mysql://me:hunter2@db/x?user=me&password=s3cret")
    ('hunter2', 's3cret')
    """
    found = [info[0].split(":", 1)[1] for info in _USER_INFO.finditer(text) if ":" in info[0]]
    found += [login[0].split("/", 1)[1].strip('\\"') for login in _ORACLE.finditer(text)]
    found += [value.strip("{}") for name, value in _PARAMETER.findall(text) if is_secret_name(name)]
    return tuple(found)


def learn(values: Iterable[str]) -> None:
    """Hide these texts everywhere from now on, also as spelled in URLs, JSON and SQL."""
    _known.update(spelling for value in values for spelling in _spellings(value) if can_be_hidden(spelling))


def redact(text: str) -> str:
    """The text with all known secrets and all credentials in URLs hidden.

    >>> redact("jdbc:postgresql://db/x?user=me&password=hunter2&ssl=true")
    'jdbc:postgresql://db/x?user=***&password=***&ssl=true'
    """
    for secret in sorted(_known, key=lambda s: (-len(s), s)):
        if secret in text:
            text = _pattern(secret).sub(lambda found: found["own"] or HIDDEN, text)
    if "@" in text:
        text = _ORACLE.sub(rf"\1{HIDDEN}", _USER_INFO.sub(HIDDEN, text))
    if "=" in text:
        text = _ASSIGNED.sub(_assigned, _PARAMETER.sub(_parameter, text))
    if " " in text:
        text = _BEARER.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}", text)
    return _BY_LOOK.sub(HIDDEN, text) if len(text) >= _SHORTEST_LOOK else text


def redact_all(value: Any) -> Any:
    """Redact every text in plain data: lists, mappings with their keys, and JSON texts, which stay JSON.

    >>> redact_all(['{"password": 1234, "since": "1995-01-01"}'])
    ['{"password": "***", "since": "1995-01-01"}']
    """
    if isinstance(value, str):
        return _redact_text(value)
    if isinstance(value, Mapping):
        return {redact_all(name): _entry(name, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(v) for v in value]
    return value


def redact_rows(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Redact rows by table. Names of tables and columns are planopt's own and are kept."""
    return {
        table: [{column: redact_all(value) for column, value in row.items()} for row in found]
        for table, found in rows.items()
    }


def _entry(name: Any, value: Any) -> Any:
    """One entry of a mapping. A secret number is recognised by its name."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return HIDDEN if is_plain and value != "" and is_secret_name(str(name)) else redact_all(value)


def _redact_text(text: str) -> str:
    if text[:1] not in ("{", "["):
        return redact(text)
    try:
        content = json.loads(text)
    except ValueError:
        return redact(text)
    redacted = redact_all(content)
    return text if redacted == content else json.dumps(redacted)


def _spellings(value: str) -> set[str]:
    escaped = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], value.replace("'", "\\'")
    unescaped = re.sub(r"\\(.)|''", lambda found: found[1] or "'", value, flags=re.DOTALL)
    return {value, *escaped, unescaped, value.replace("''", ""), unquote(value), quote(value), quote(value, safe="")}


@lru_cache(maxsize=1024)
def _pattern(secret: str) -> re.Pattern[str]:
    """A number is hidden only as a whole: `77001` does not match in `1770015`."""
    text = rf"(?<!\d){secret}(?!\d)" if secret.isdecimal() else re.escape(secret)
    own = _OWN_ID if len(secret) < _BY_CHANCE else r"(?!)"
    return re.compile(rf"(?P<own>{own})|{text}")


def _parameter(found: re.Match[str]) -> str:
    hide = is_secret_name(found[1]) or _CREDENTIAL_PARAMETER.fullmatch(found[1])
    return f"{found[1]}={HIDDEN}" if hide else found[0]


def _assigned(found: re.Match[str]) -> str:
    return f"{found[1]}={HIDDEN}" if is_secret_name(found[1]) else found[0]
