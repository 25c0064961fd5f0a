"""The knob catalogue and the veto: every objection, and the case without one."""

from __future__ import annotations

import pkgutil
from dataclasses import replace

import pytest

from planopt_assets.decide import knobs
from planopt_assets.decide.catalogue import CATALOGUE, EXCLUDABLE_RULES, RESULT_CHANGING
from planopt_assets.decide.knobs import knob, objection, objections, size_in_bytes
from planopt_assets.model.hint import Hint, Strategy
from planopt_assets.model.knob import Knob
from planopt_assets.model.policy import Policy
from planopt_assets.model.rewrite import REWRITES as SPECS
from planopt_assets.model.setting import BY_CORES, BY_MEMORY
from planopt_assets.model.workload import Knobs
from planopt_assets.replan import rewrites
from planopt_tests.decide.cases import MAX_BYTES, OPEN_COST, SHUFFLE
from planopt_tests.unknown_part import policy_with_a_property

pytestmark = pytest.mark.fast

EXCLUDED = "spark.sql.optimizer.excludedRules"
ANYTHING = Knobs()
REWRITES = tuple(spec.name for spec in SPECS)
OPTED_IN = Knobs(allow=(EXCLUDED,))
NUMBERS = [k for k in CATALOGUE if k.kind in ("int", "bytes", "float")]
SWITCHES = [k for k in CATALOGUE if k.kind == "bool"]


# May be set


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda k: k.name)
def test_a_number_may_be_set_to_its_bounds_and_between(entry: Knob) -> None:
    values = (entry.low, (entry.low + entry.high) // 2, entry.high)
    assert [objection(entry.name, str(value), ANYTHING) for value in values] == [None, None, None]


@pytest.mark.parametrize("entry", SWITCHES, ids=lambda k: k.name)
def test_a_switch_may_be_on_or_off_and_nothing_else(entry: Knob) -> None:
    assert [objection(entry.name, value, ANYTHING) for value in ("true", "false")] == [None, None]
    for value in ("True", "1", "yes", ""):
        assert objection(entry.name, value, ANYTHING) == f"{entry.name}={value} is neither true nor false"


def test_a_ratio_may_have_decimals_and_a_count_may_not() -> None:
    assert objection("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "2.5", ANYTHING) is None
    assert objection(SHUFFLE, "2.5", ANYTHING) == f"{SHUFFLE}=2.5 is no plain number"


def test_an_allowed_knob_may_be_set() -> None:
    assert objection(SHUFFLE, "8", Knobs(allow=(SHUFFLE,))) is None


def test_a_knob_may_be_set_while_others_are_denied_or_pinned() -> None:
    assert objection(SHUFFLE, "8", Knobs(deny=(OPEN_COST,), pin=((MAX_BYTES, "1"),))) is None


# May not be set


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.ansi.enabled",
        "spark.sql.session.timeZone",
        "spark.sql.caseSensitive",
        "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles",
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.legacy.parquet.nanosAsLong",
        "spark.databricks.delta.stalenessLimit",
        "spark.databricks.delta.stats.limitPushdown.enabled",
    ],
)
def test_a_setting_that_may_change_results_may_not_be_set(name: str) -> None:
    assert objection(name, "1", ANYTHING) == f"{name} may change results"


def test_a_setting_that_may_change_results_may_not_be_set_even_if_the_workload_allows_it() -> None:
    assert objection("spark.sql.ansi.enabled", "false", Knobs(allow=("spark.sql.ansi.enabled",))) is not None


def test_a_setting_outside_the_catalogue_may_not_be_set() -> None:
    assert objection("spark.sql.codegen.wholeStage", "1", ANYTHING) == (
        "spark.sql.codegen.wholeStage is not in the knob catalogue"
    )


def test_a_knob_marked_as_changing_results_may_not_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = tuple(replace(k, may_change_results=k.name == SHUFFLE) for k in CATALOGUE)
    monkeypatch.setattr(knobs, "CATALOGUE", marked)
    assert objection(SHUFFLE, "8", ANYTHING) is not None
    assert objection(OPEN_COST, "8", ANYTHING) is None


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda k: k.name)
def test_a_value_outside_the_bounds_may_not_be_set(entry: Knob) -> None:
    for value in (entry.low - 1, entry.high + 1):
        words = f"{entry.name}={value} is"
        assert objection(entry.name, str(value), ANYTHING) in (
            f"{words} outside {entry.low}..{entry.high}",
            *([f"{words} no plain number"] if value < 0 else []),
        )


@pytest.mark.parametrize("value", ["8m", "0x10", " 8", "+8", "08", "8.0", "", "eight", "٨"])
def test_a_number_has_one_spelling(value: str) -> None:
    assert objection(MAX_BYTES, value, ANYTHING) == f"{MAX_BYTES}={value} is no plain number"


def test_a_denied_knob_may_not_be_set() -> None:
    assert objection(SHUFFLE, "8", Knobs(deny=(SHUFFLE,))) == f"{SHUFFLE} is denied in the workload file"


def test_a_knob_that_is_not_among_the_allowed_may_not_be_set() -> None:
    assert objection(SHUFFLE, "8", Knobs(allow=(OPEN_COST,))) == (
        f"{SHUFFLE} is not among the allowed knobs of the workload file"
    )


def test_a_pinned_knob_may_not_be_set_not_even_to_its_pinned_value() -> None:
    assert objection(SHUFFLE, "8", Knobs(pin=((SHUFFLE, "8"),))) == f"{SHUFFLE} is pinned in the workload file"


# Opt-in, and rules of the optimizer


def test_an_opt_in_knob_is_tried_only_where_the_workload_names_it() -> None:
    assert objection(EXCLUDED, EXCLUDABLE_RULES[0], ANYTHING) == (
        f"{EXCLUDED} is opt-in: list it in `knobs.allow` of the workload file"
    )
    assert objection(EXCLUDED, EXCLUDABLE_RULES[0], Knobs(allow=(SHUFFLE,))) is not None
    assert objection(EXCLUDED, EXCLUDABLE_RULES[0], OPTED_IN) is None


@pytest.mark.parametrize(
    "value",
    [
        "org.apache.spark.sql.catalyst.optimizer.PushDownPredicates",
        f"{EXCLUDABLE_RULES[0]},org.apache.spark.sql.catalyst.optimizer.ReplaceIntersectWithSemiJoin",
        f"{EXCLUDABLE_RULES[0]}, {EXCLUDABLE_RULES[1]}",
        "",
    ],
)
def test_only_listed_rules_can_be_left_out(value: str) -> None:
    assert "is not among its values" in str(objection(EXCLUDED, value, OPTED_IN))
    assert objection(EXCLUDED, ",".join(EXCLUDABLE_RULES), OPTED_IN) is None


# Whole policies


def test_a_policy_of_permitted_settings_hints_and_rewrites_meets_no_objection() -> None:
    hints = ("broadcast(join0.right orders)", "shuffle_hash(join1.left)", "merge(join2.left a)")
    assert objections(Policy.of({SHUFFLE: "8"}, hints=hints, rewrites=REWRITES), ANYTHING) == ()


@pytest.mark.parametrize(
    ("strategy", "target"),
    [
        ("set", "spark.sql.ansi.enabled=false"),
        ("broadcast", "join0.right orders) */ 1, /*+ x("),
        ("broadcast", "join0.right my orders"),
        ("coalesce", "join0.right"),
        ("broadcast", "orders"),
        ("broadcast", "join0.middle"),
        ("BROADCAST", "join0.left"),
        ("", ""),
    ],
)
def test_nothing_but_a_join_hint_passes_as_a_hint(strategy: Strategy, target: str) -> None:
    hint = Hint(strategy, target)
    assert objections(Policy((hint,)), ANYTHING) == (f"not a join hint: {str(hint)!r}",)
    with pytest.raises(ValueError, match="not a join hint"):
        Policy.of(hints=[str(hint)])


def test_a_part_that_no_veto_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_with_a_property(monkeypatch)
    assert objections(policy, ANYTHING) == ("delta.x: no veto covers this kind of part, so it is refused",)


def test_everything_that_speaks_against_a_policy_is_listed() -> None:
    settings = {"spark.sql.ansi.enabled": "false", SHUFFLE: "0"}
    change = Policy((Hint("merge", "x"), *Policy.of(settings, rewrites=["drop_where", *REWRITES]).parts))
    assert objections(change, ANYTHING) == (
        "spark.sql.ansi.enabled may change results",
        f"{SHUFFLE}=0 is outside 1..20000",
        "not a join hint: 'merge(x)'",
        "'drop_where' is not a known rewrite",
    )


def test_the_rewrites_a_policy_may_name_are_those_there_are() -> None:
    assert sorted(REWRITES) == sorted(module.name for module in pkgutil.iter_modules(rewrites.__path__))


# The catalogue itself


def test_the_catalogue_has_every_knob_once_and_none_that_changes_results() -> None:
    names = [k.name for k in CATALOGUE]
    assert len(names) == len(set(names))
    assert not [n for n in names if n.startswith(RESULT_CHANGING)]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda k: k.name)
def test_a_knob_says_what_it_influences_and_which_values_it_takes(entry: Knob) -> None:
    assert entry.influences
    assert (entry.low < entry.high) == (entry in NUMBERS)
    assert bool(entry.choices) == (entry.kind in ("choice", "list"))
    assert entry.name.startswith("parquet.") == (entry.source == "parquet")
    assert entry.name.startswith("spark.databricks.delta.") == (entry.source == "delta")


def test_a_choice_is_one_of_its_words() -> None:
    entry = Knob("k", "choice", "…", choices=("a", "b"))
    assert [entry.objection(v) for v in ("a", "b", "a,b")] == [None, None, "k: 'a,b' is not among its values"]


def test_a_knob_is_found_by_its_full_name_only() -> None:
    assert knob(SHUFFLE) == CATALOGUE[0]
    assert knob("shuffle.partitions") is None


# Sizes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("42", 42),
        ("0", 0),
        ("-1", -1),
        ("4194304b", 4 * 1024**2),
        ("64k", 64 * 1024),
        ("64KB", 64 * 1024),
        ("128MB", 128 * 1024**2),
        ("1g", 1024**3),
        ("1TB", 1024**4),
    ],
)
def test_sizes_are_read_as_spark_shows_them(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


def test_settings_that_depend_on_the_cores_are_knobs() -> None:
    assert {*BY_CORES, *BY_MEMORY} <= {knob.name for knob in CATALOGUE}
