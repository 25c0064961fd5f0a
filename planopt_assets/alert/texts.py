"""A message in the form of each kind of destination. Every text is redacted here, before it leaves the process."""

from __future__ import annotations

import hashlib
from email.message import EmailMessage
from typing import Any

import orjson

from planopt_assets.model.alerts import Destination, Message
from planopt_assets.model.printable import printable
from planopt_assets.model.redaction import redact, redact_all

LONGEST = 3000
"""Characters of a text. Slack refuses more than 4,000 in one message."""


def plain(message: Message) -> str:
    """One line for a log: `opened q3: …`."""
    return f"{message.event} {_title(message)}: {' '.join(_short(message.incident.text).split())}"


def json_bytes(message: Message) -> bytes:
    facts: dict[str, Any] = redact_all(message.facts())
    return orjson.dumps({**facts, "text": _short(message.incident.text)})


def slack_bytes(message: Message) -> bytes:
    """Slack's format: the title in bold, then the text.

    `&`, `<` and `>` are escaped, or a text such as `<!channel>` would be a command.
    """
    title, text = (_escaped(part) for part in (_title(message), _short(message.incident.text)))
    return orjson.dumps({"text": f"*{title}*\n{text}"})


def mail(message: Message, destination: Destination) -> EmailMessage:
    """The Message-ID follows from the message's id: a mail that is sent again after a crash has the same one."""
    made = EmailMessage()
    made["Subject"] = f"[planopt] {_title(message)}"
    made["From"], made["To"] = destination.sender, ", ".join(destination.to)
    made["Date"] = message.at
    domain = destination.sender.rpartition("@")[2]
    made["Message-ID"] = f"<{hashlib.sha256(message.id.encode()).hexdigest()[:32]}@{domain}>"
    facts = "\n".join(f"{name}: {value}" for name, value in message.facts().items() if name not in ("text", "title"))
    made.set_content(f"{_title(message)}\n\n{_short(message.incident.text)}\n\n{redact(facts)}\n")
    return made


def _title(message: Message) -> str:
    """One line."""
    return " ".join(printable(redact(message.title)).split())


def _short(text: str) -> str:
    shown = printable(redact(text))
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
