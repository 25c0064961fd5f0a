"""Hypothesis strategies for every noun that is stored, from the types of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypeVar, get_type_hints

from hypothesis import strategies as st

from planopt_assets.model.conditions import Circumstances, Condition, Conditions, TableState
from planopt_assets.model.counters import Counters
from planopt_assets.model.decision import Arithmetic
from planopt_assets.model.hint import STRATEGIES, Hint
from planopt_assets.model.policy import Policy
from planopt_assets.model.rewrite import Rewrite
from planopt_assets.model.scan import ConjunctOutcome, Funnel, Size
from planopt_assets.model.setting import Setting
from planopt_assets.model.stamp import NOT_STORED, Stamp
from planopt_assets.model.verdict import Criterion, Gain, Judgement

N = TypeVar("N")

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
LONG = st.integers(-(2**60), 2**60)  # a column may hold the difference of two
REAL = st.floats(allow_nan=False)
NAMES = st.from_regex(r"[a-z]{1,6}(\.[a-z]{1,6})?", fullmatch=True)
MOMENT = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # hypothesis adds it
LEAF = st.none() | st.booleans() | LONG | TEXT
DOCUMENT = st.dictionaries(TEXT, st.recursive(LEAF, st.lists, max_leaves=4), max_size=3)
LAYOUT = st.dictionaries(NAMES, TEXT, max_size=3)
PAIRS = st.dictionaries(NAMES, TEXT, max_size=4).map(lambda found: tuple(sorted(found.items())))
METRICS = st.dictionaries(TEXT, LONG, max_size=4).map(lambda found: tuple(sorted(found.items())))
ARITHMETIC = st.dictionaries(NAMES, LONG | REAL.filter(lambda x: abs(x) < 1e300) | TEXT, max_size=5).map(
    lambda found: tuple(found.items())
)
HINTS = st.builds(
    lambda strategy, join, side, alias: Hint(strategy, f"join{join}.{side}{alias}"),
    st.sampled_from(STRATEGIES),
    st.integers(0, 9),
    st.sampled_from(["left", "right"]),
    st.sampled_from(["", " orders", " `o d`".replace(" d", "d")]),
)
POLICIES = st.builds(
    lambda settings, hints, rewrites: Policy((*settings, *hints, *rewrites)),
    st.dictionaries(NAMES, TEXT, max_size=3).map(lambda found: [Setting(n, v) for n, v in found.items()]),
    st.lists(HINTS, max_size=2, unique=True),
    st.lists(NAMES.map(Rewrite), max_size=2, unique=True),
)
TABLE_STATES = st.builds(TableState, TEXT, TEXT, st.none() | LONG, st.none() | TEXT)
CONDITIONS = st.builds(
    Conditions,
    st.builds(
        Circumstances,
        st.none() | TEXT,
        st.none() | LONG,
        METRICS,
        st.lists(TABLE_STATES, max_size=2).map(tuple),
        PAIRS,
        st.none() | st.lists(TEXT, max_size=2).map(tuple),
    ),
    st.lists(
        st.builds(Condition, TEXT, st.lists(TEXT, max_size=2).map(tuple), st.booleans(), st.booleans()), max_size=2
    ).map(tuple),
)
STAMPS = st.builds(Stamp, TEXT, MOMENT) | st.just(NOT_STORED)

# By type, where hypothesis would draw what no row can hold: any float, any integer, any mapping.
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: LONG,
    float: REAL,
    bytes: st.binary(max_size=20),
    datetime: MOMENT,
    Policy: POLICIES,
    Conditions: CONDITIONS,
    Stamp: st.just(NOT_STORED),  # it comes from the row's own columns
    Mapping[str, Any]: DOCUMENT,
    dict[str, str]: LAYOUT,
    Arithmetic: ARITHMETIC,
}
# By name, where a tuple of pairs is a mapping in the row.
_BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "bundle_parts": PAIRS,
    "settings": PAIRS,
    "metrics": METRICS,
    "table_sizes": METRICS,
}


def of(noun: type[N], **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[N]:
    """Any value of a dataclass whose fields a row can hold."""
    hints = get_type_hints(noun)
    return st.builds(
        noun,
        **{
            f.name: fixed.get(f.name, _BY_NAME.get(f.name) if f.name in _BY_NAME else _values(hints[f.name]))
            for f in fields(noun)  # type: ignore[arg-type]  # every noun is a dataclass
        },
    )


def _values(hint: Any) -> st.SearchStrategy[Any]:
    """What a field of this type may hold; nested nouns and their unions included."""
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if hasattr(hint, "__dataclass_fields__"):
        return of(hint)
    origin, arguments = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if origin in (tuple, Sequence) and (origin is Sequence or (len(arguments) == 2 and arguments[1] is Ellipsis)):
        return st.lists(_values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(_values, arguments))
    if type(hint).__name__ in ("UnionType", "_UnionGenericAlias"):
        return st.one_of(*map(_values, arguments))
    return st.from_type(hint)


COUNTERS = of(Counters)
JUDGEMENTS = of(Judgement, criteria=st.lists(of(Criterion), max_size=3).map(tuple), gain=st.none() | of(Gain))
FUNNELS = of(Funnel)
SIZES = of(Size)
CONJUNCTS = of(ConjunctOutcome)
