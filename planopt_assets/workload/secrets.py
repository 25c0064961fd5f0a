"""What of a workload must never leave the process."""

from __future__ import annotations

from collections.abc import Iterator

from planopt_assets.errors import WrongValue
from planopt_assets.model.redaction import (
    SHORTEST,
    can_be_hidden,
    is_secret_name,
    learn,
    marked_literals,
    url_passwords,
)
from planopt_assets.model.workload import Workload


def learn_secrets(workload: Workload) -> None:
    """Settings and parameters named like secrets, literals that a query marks as one, and passwords in URLs."""
    secrets = [*_named(workload), *_marked(workload)]
    for secret, where in secrets:
        _check(workload, secret, where)
    for secret, _ in secrets:
        # The planner turns `LIKE '%x%'` into a comparison with `x`.
        learn([secret, *secret.split("%")])
    for text in [value for _, value in _values(workload)] + [query.sql or "" for query in workload.queries]:
        learn(url_passwords(text))
    learn(alert.url for alert in workload.alerts)  # whoever knows the URL of a webhook can post to it


def _values(workload: Workload) -> Iterator[tuple[str, str]]:
    """Everything that has a name and a text or number as its value."""
    yield from workload.spark_settings
    yield from workload.knobs.pin
    for query in workload.queries:
        for binding in query.bindings:
            yield from ((name, str(value)) for name, value in binding if value is not None)


def _named(workload: Workload) -> Iterator[tuple[str, str]]:
    for name, value in _values(workload):
        if is_secret_name(name) and value and value.lower() not in ("true", "false"):
            yield value, f"the value of {name}, which is named like a secret,"


def _marked(workload: Workload) -> Iterator[tuple[str, str]]:
    for query in workload.queries:
        for literal in marked_literals(query.sql or ""):
            yield literal, f"what query {query.id} marks as secret"


def _check(workload: Workload, secret: str, where: str) -> None:
    """A secret that cannot be hidden, or not without hiding what rows are found by, is refused; it is never shown."""
    if not can_be_hidden(secret):
        why = f"{where} is no literal of at least {SHORTEST} characters: it could not be told from other text"
        raise WrongValue(why, file=str(workload.file), fix="use a longer secret, or take the mark or the name away")
    names = [workload.name, *(q.id for q in workload.queries), *(t.name for t in workload.tables)]
    if any(secret in name for name in names):
        why = f"{where} is part of the name of the workload, a query or a table: it could not be hidden there"
        raise WrongValue(why, file=str(workload.file), fix="use another secret, or another name")
