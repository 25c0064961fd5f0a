"""One function per kind of destination: hand over one message, or raise `AlertNotSent`."""

from __future__ import annotations

import logging
import os
import smtplib
import ssl
from collections.abc import Callable
from pathlib import Path

import requests

from planopt_assets.alert.texts import json_bytes, mail, plain, slack_bytes
from planopt_assets.errors import AlertNotSent
from planopt_assets.model.alerts import Destination, DestinationKind, Message
from planopt_assets.model.redaction import learn

LOG = logging.getLogger("planopt.alerts")
CONNECT_S, ANSWER_S = 5.0, 10.0
PORTS = {"starttls": 587, "tls": 465, "none": 25}
_PASSING = (408, 425, 429)  # with 5xx: the same request may be taken a little later


def to_log(destination: Destination, message: Message) -> None:
    LOG.warning("%s", plain(message))


def to_file(destination: Destination, message: Message) -> None:
    """Append one line. It is written at once, so lines of two processes do not mix."""
    path = Path(destination.path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            file.write(json_bytes(message) + b"\n")
    except OSError as error:
        raise not_sent(destination, error.strerror or type(error).__name__) from error


def to_webhook(destination: Destination, message: Message) -> None:
    _post(destination, json_bytes(message))


def to_slack(destination: Destination, message: Message) -> None:
    _post(destination, slack_bytes(message))


def to_mail(destination: Destination, message: Message) -> None:
    port = destination.port or PORTS[destination.security]
    password = _secret(destination, destination.password_env) if destination.password_env else ""
    try:
        with _server(destination, port) as server:
            if destination.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if destination.user:
                server.login(destination.user, password)
            server.send_message(mail(message, destination))
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error if isinstance(error.smtp_error, str) else error.smtp_error.decode(errors="replace")
        raise not_sent(
            destination, f"it answers {error.smtp_code} {said}", passing=400 <= error.smtp_code < 500
        ) from error
    except (smtplib.SMTPException, OSError) as error:
        refused = isinstance(error, ssl.SSLCertVerificationError | smtplib.SMTPNotSupportedError)
        raise not_sent(destination, _words(error), passing=not refused) from error


CHANNELS: dict[DestinationKind, Callable[[Destination, Message], None]] = {
    "log": to_log,
    "file": to_file,
    "webhook": to_webhook,
    "slack": to_slack,
    "smtp": to_mail,
}


def _post(destination: Destination, body: bytes) -> None:
    """A redirect is an error: the message would go to somebody the workload file does not name."""
    url = destination.url or _secret(destination, destination.url_env)
    try:
        with requests.post(
            url,
            data=body,
            headers={"Content-Type": "application/json", "User-Agent": "planopt"},
            timeout=(CONNECT_S, ANSWER_S),
            allow_redirects=False,
            stream=True,  # the answer's body is not read, however long it is
        ) as answer:
            status = answer.status_code
    except requests.RequestException as error:
        # Its text has the whole URL, which may be the secret.
        passing = isinstance(error, requests.ConnectionError | requests.Timeout)
        passing = passing and not isinstance(error, requests.exceptions.SSLError)
        raise not_sent(destination, f"no answer ({type(error).__name__})", passing=passing) from None
    if not 200 <= status < 300:
        raise not_sent(destination, f"it answers {status}", passing=status >= 500 or status in _PASSING)


def _server(destination: Destination, port: int) -> smtplib.SMTP:
    if destination.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(destination.host, port, timeout=ANSWER_S, context=context)
    return smtplib.SMTP(destination.host, port, timeout=ANSWER_S)


def _secret(destination: Destination, variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise not_sent(destination, f"the environment variable {variable} is not set in this process")
    learn([value])
    return value


def not_sent(destination: Destination, what: str, *, passing: bool = False) -> AlertNotSent:
    error = AlertNotSent(
        f"the alert could not be sent: {what}",
        where=f"alerts: {destination.name} ({destination.kind})",
        fix="correct the destination in the workload file, then `planopt alerts test`",
    )
    error.passing = passing
    return error


def _words(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
