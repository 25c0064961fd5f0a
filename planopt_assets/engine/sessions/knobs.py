"""The knob catalogue against the running Spark: every knob is known, can be set in a session, and has the type it says.

Values come from Spark and from Parquet's reader, never from a copy of their defaults.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from planopt_assets.decide.knobs import knob
from planopt_assets.engine.jvm.bridge import Jvm, jvm_of
from planopt_assets.errors import KnobMistyped, KnobUnknown
from planopt_assets.model.knob import UNSET, Knob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# Spark does not know Parquet's own options; these are the questions that Parquet's reader asks about them.
READER_OPTIONS: Final = {
    "parquet.filter.stats.enabled": "useStatsFilter",
    "parquet.filter.dictionary.enabled": "useDictionaryFilter",
    "parquet.filter.columnindex.enabled": "useColumnIndexFilter",
    "parquet.filter.bloom.enabled": "useBloomFilter",
}

_TYPES: Final = {
    "int": ("int", "long"),
    "bytes": ("bytes in BYTE",),
    "float": ("double",),
    "bool": ("boolean",),
    "choice": ("",),
    "list": ("",),
}
_NO_VALUE = "no value of this or any type"
_CHECKED: WeakKeyDictionary[SparkContext, set[Knob]] = WeakKeyDictionary()
_NAMED_TYPE = re.compile(r"should be a/an '([^']+)' value")


def register_delta_settings(jvm: Jvm) -> None:
    """Delta tells Spark its settings when this is first used. Before that, a session without a Delta query has none."""
    jvm.scala_object("org.apache.spark.sql.delta.sources.DeltaSQLConf")


class KnobReader:
    """Reads knobs out of one session; the type of each is looked at once for the whole application."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._jvm = jvm_of(session)
        self._checked = _CHECKED.setdefault(session.sparkContext, set())
        register_delta_settings(self._jvm)
        self._entries = self._jvm.scala_object("org.apache.spark.sql.internal.SQLConf")

    def effective(self, names: Iterable[str]) -> dict[str, str]:
        """What these settings are; one that Spark does not know or holds differently is an error, not a no-op."""
        return {name: self._value(name) for name in names}

    def _value(self, name: str) -> str:
        check_settable(self._session, name, where="knob catalogue")
        if name in READER_OPTIONS:
            return self._reader_option(name)
        entry = knob(name)
        if entry is not None and entry not in self._checked:
            check_type(entry, self._entries.getConfigEntry(name))
            self._checked.add(entry)
        value = self._session.conf.get(name)
        return UNSET if value is None else str(value)

    def _reader_option(self, name: str) -> str:
        """As Parquet's reader will see it: the session's settings over Hadoop's, over its own defaults."""
        state: Any = self._session._jsparkSession.sessionState()
        options = self._jvm.root.org.apache.parquet.HadoopReadOptions.builder(state.newHadoopConf()).build()
        return str(getattr(options, READER_OPTIONS[name])()).lower()


def check_settable(session: SparkSession, name: str, *, where: str, fix: str = "correct the knob's name") -> None:
    """Refuse a name that is no setting of a session: unknown to it, or fixed since it started."""
    if name not in READER_OPTIONS and not session.conf.isModifiable(name):
        raise KnobUnknown(f"{name!r} is no session setting of this Spark", where=where, fix=fix)


def check_type(entry: Knob, defined: Any) -> None:
    """Spark must hold it as what the catalogue says, and must take both bounds.

    An entry does not tell its type. It says it when it is given nonsense: `It should be a/an 'boolean' value`.
    """
    refusal = _refusal(defined, _NO_VALUE)
    found = _NAMED_TYPE.search(refusal)
    if (held := found[1] if found else "") not in _TYPES[entry.kind]:
        raise _mistyped(entry, f"this Spark holds it as {held or 'text'}")
    bounds = [entry.low, entry.high] if entry.low < entry.high else entry.choices
    for value in map(str, bounds):
        if refusal := _refusal(defined, value):
            raise _mistyped(entry, f"this Spark refuses {value}: {refusal}")


def _refusal(defined: Any, text: str) -> str:
    """What Spark says about a value it does not take; empty where it takes it."""
    try:
        defined.valueConverter().apply(text)
    except (Py4JError, PySparkException) as error:
        return str(error).splitlines()[0] or "it is refused"
    return ""


def _mistyped(entry: Knob, why: str) -> KnobMistyped:
    return KnobMistyped(
        f"{entry.name!r} is {entry.kind} in the knob catalogue, but {why}",
        where="knob catalogue",
        fix="correct its kind or its bounds in the knob catalogue",
    )
