"""The knob catalogue against the running Spark: every knob is known, can be set in a session, and has the type it says.

Values come from Spark and from Parquet's reader, never from a copy of their defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError

from planopt_assets.decide.knobs import knob
from planopt_assets.engine.jvm import Jvm
from planopt_assets.errors import KnobMistyped, KnobUnknown
from planopt_assets.model.knob import UNSET, Knob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

# Parquet names its options in a Java class; these are the questions that its own reader asks about them.
READER_OPTIONS: Final = {
    "parquet.filter.stats.enabled": "useStatsFilter",
    "parquet.filter.dictionary.enabled": "useDictionaryFilter",
    "parquet.filter.columnindex.enabled": "useColumnIndexFilter",
    "parquet.filter.bloom.enabled": "useBloomFilter",
}

_REFUSED: Final = {
    "int": ("true", "2.5", "7b"),
    "bytes": ("true", "2.5"),
    "float": ("true", "7b"),
    "bool": ("1", "2.5"),
}


def effective_knobs(session: SparkSession, names: Iterable[str]) -> dict[str, str]:
    """What these settings are in this session; one that it does not know or holds differently is an error."""
    jvm = Jvm(session)
    # Delta tells Spark its settings when this is first used.
    jvm.scala_object("org.apache.spark.sql.delta.sources.DeltaSQLConf")
    entries = jvm.scala_object("org.apache.spark.sql.internal.SQLConf")
    values = {}
    for name in names:
        check_settable(session, name, where="knob catalogue")
        entry = knob(name)
        if name in READER_OPTIONS:
            values[name] = _reader_option(session, jvm, name)
            continue
        if entry is not None:
            _check_type(entry, entries.getConfigEntry(name))
        value = session.conf.get(name)
        values[name] = UNSET if value is None else str(value)
    return values


def check_settable(session: SparkSession, name: str, *, where: str, fix: str = "correct the knob's name") -> None:
    """Refuse a name that is no setting of a session: unknown to it, or fixed since it started."""
    if name not in READER_OPTIONS and not session.conf.isModifiable(name):
        raise KnobUnknown(f"{name!r} is no session setting of this Spark", where=where, fix=fix)


def _check_type(entry: Knob, defined: Any) -> None:
    """Spark must read what the catalogue allows, and must not read what only another type would accept.

    A size is a number that also reads `7b`; that is all that tells it from a count.
    """
    allowed = [str(entry.low), str(entry.high)] if entry.low < entry.high else []
    allowed += {"bytes": [f"{entry.high}b"], "bool": ["true", "false"], "float": ["2.5"]}.get(entry.kind, [])
    allowed += [*entry.choices, ",".join(entry.choices)] if entry.kind == "list" else entry.choices
    wrong = [text for text in allowed if not _reads(defined, text)]
    wrong += [text for text in _REFUSED.get(entry.kind, ()) if _reads(defined, text)]
    if wrong:
        raise KnobMistyped(
            f"{entry.name!r} is {entry.kind} in the knob catalogue, but this Spark reads {wrong[0]!r} differently",
            where="knob catalogue",
            fix="correct its kind or its bounds in the knob catalogue",
        )


def _reads(defined: Any, text: str) -> bool:
    try:
        defined.valueConverter().apply(text)
    except Py4JError:
        return False
    return True


def _reader_option(session: SparkSession, jvm: Jvm, name: str) -> str:
    """As Parquet's reader will see it: the session's settings over Hadoop's, over its own defaults."""
    state: Any = session._jsparkSession.sessionState()
    options = jvm.root.org.apache.parquet.HadoopReadOptions.builder(state.newHadoopConf()).build()
    return str(getattr(options, READER_OPTIONS[name])()).lower()
