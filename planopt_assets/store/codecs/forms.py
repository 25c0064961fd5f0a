"""The forms that several tables use: policies, lists of texts, JSON, and JSON that is decoded only when asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, TypeVar, overload

from planopt_assets.model.conditions import Conditions
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.policy import Policy
from planopt_assets.model.signals import (
    Aggregation,
    Exchange,
    Join,
    JoinInput,
    PythonFunction,
    Scan,
    Signals,
    Spill,
    Stage,
)
from planopt_assets.model.table_facts import Protocol
from planopt_assets.model.trial import Digest, FloatSummary
from planopt_assets.store.codecs.codec import Form, single

T = TypeVar("T")


class Lazy(Sequence[T]):
    """A sequence that is decoded when somebody first looks: most verdicts are read for their outcome alone."""

    __slots__ = ("_decode", "_found")

    def __init__(self, decode: Callable[[], tuple[T, ...]]) -> None:
        """`decode` raises `RowDamaged` itself, with the row in it: nobody else knows it by then."""
        self._decode = decode
        self._found: tuple[T, ...] | None = None

    @property
    def _items(self) -> tuple[T, ...]:
        if self._found is None:
            self._found = self._decode()
        return self._found

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | list | Lazy) and self._items == tuple(other)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


def dumped(value: Any) -> str:
    """JSON in the one spelling that ids and comparisons rest on."""
    return json.dumps(value, sort_keys=True)


@lru_cache(maxsize=65536)
def policy_of(text: str) -> Policy:
    """A policy of the store; the same few policies stand in many rows."""
    return Policy.from_json(text)


POLICY = single(Policy.to_json, policy_of)


@lru_cache(maxsize=4096)
def _conditions(text: str | None) -> Conditions | None:
    return None if text is None else Conditions.of(json.loads(text))


CONDITIONS = single(lambda value: None if value is None else dumped(value.facts()), _conditions)
TEXTS = single(list, lambda stored: tuple(stored or ()))
TEXTS_OR_NONE = single(
    lambda value: None if value is None else list(value), lambda stored: None if stored is None else tuple(stored)
)


def _pairs(text: str | None) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(json.loads(text or "{}").items()))


PAIRS = single(lambda value: dumped(dict(value)), _pairs)
PAIRS_IF_ASKED = single(lambda value: dumped(dict(value)), lambda text: Lazy(lambda: _pairs(text)))


def list_of(noun: Callable[..., T]) -> Form:
    """A tuple of flat nouns as one JSON text; null where an older planopt did not look.

    Observations of unchanged tables repeat the same text: it is one tuple.
    """

    @lru_cache(maxsize=4096)
    def read(text: str | None) -> tuple[T, ...]:
        return tuple(noun(**content) for content in json.loads(text or "[]"))

    return single(lambda values: dumped([asdict(v) for v in values]), read)


TABLES_READ = list_of(PinnedTable)


def _protocol(
    min_reader: int | None, min_writer: int | None, readers: list[str] | None, writers: list[str] | None
) -> Protocol:
    return Protocol(min_reader or 0, min_writer or 0, tuple(readers or ()), tuple(writers or ()))


PROTOCOL = Form(
    lambda p: (p.min_reader, p.min_writer, list(p.reader_features), list(p.writer_features)),
    _protocol,
    ("min_reader", "min_writer", "reader_features", "writer_features"),
)


# Signals and digests

_SIGNALS: dict[str, type[Any]] = {
    "exchanges": Exchange,
    "scans": Scan,
    "joins": Join,
    "aggregations": Aggregation,
    "spills": Spill,
    "stages": Stage,
    "functions": PythonFunction,
}


def signals_from_json(text: str) -> Signals:
    """Rows of an older planopt lack what it did not look at: that has the default, which is nothing known.

    >>> signals_from_json('{"exchanges": [{"node": 2, "partitions": 200, "bytes_written": 9}], "scans": []}').joins
    ()
    """
    content = json.loads(text)
    return Signals(
        **{name: tuple(_signal(kind, s) for s in content.get(name, ())) for name, kind in _SIGNALS.items()},
        plan_dependent=tuple(content.get("plan_dependent", ())),
    )


def plan_dependent_from_json(text: str | None) -> tuple[str, ...]:
    """Of stored signals only this. Most queries have none, and then nothing is parsed.

    >>> plan_dependent_from_json('{"plan_dependent": ["first"], "scans": []}'), plan_dependent_from_json(None)
    (('first',), ())
    """
    if not text or '"plan_dependent"' not in text or '"plan_dependent": []' in text:
        return ()
    return tuple(json.loads(text).get("plan_dependent", ()))


def _signal(kind: type[Any], content: dict[str, Any]) -> Any:
    """JSON knows lists but no tuples, and the inputs of a join are objects of their own."""
    return kind(**{name: _value(value) for name, value in content.items()})


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _signal(JoinInput, value)
    return tuple(value) if isinstance(value, list) else value


def digest_json(digest: Digest) -> str:
    return dumped({name: value for name, value in asdict(digest).items() if value is not None})


def digest_from_json(text: str) -> Digest:
    """Rows of an older planopt have no form: theirs was the first, without names and types."""
    content = json.loads(text)
    floats = tuple(
        FloatSummary(f["column"], f["total"], f["magnitude"], f.get("single", False)) for f in content["floats"]
    )
    return Digest(
        content["rows"],
        content["exact"],
        content["bits"],
        floats,
        content.get("sequence"),
        content.get("columns", ""),
        content.get("form", 1),
    )


SIGNALS = single(
    lambda value: None if value is None else dumped(asdict(value)),
    lambda text: None if text is None else signals_from_json(text),
)
PLAN_DEPENDENT = single(lambda names: dumped({"plan_dependent": names}), plan_dependent_from_json, "signals")
DIGEST = single(
    lambda value: None if value is None else digest_json(value),
    lambda text: None if text is None else digest_from_json(text),
)
