"""What is built in a JVM belongs to the application: all its sessions share it, and no other application gets it."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.jvm import bridge
from planopt_assets.engine.jvm.bridge import jvm_of
from planopt_assets.engine.jvm.started_with import started_with

pytestmark = pytest.mark.fast


class Context:
    """Of an application; Spark's own can be the key of a weak dictionary, too."""

    def __init__(self, **settings: str) -> None:
        self._gateway = SimpleNamespace(new_array=lambda kind, size: [kind] * size)
        self._conf = settings


def session(context: Context) -> Any:
    return SimpleNamespace(sparkContext=context, _jvm=SimpleNamespace(java=SimpleNamespace()))


def test_sessions_of_one_application_share_their_jvm_and_those_of_another_do_not() -> None:
    one, other = Context(), Context()
    assert jvm_of(session(one)) is jvm_of(session(one))
    assert jvm_of(session(one)) is not jvm_of(session(other))


def test_it_is_forgotten_with_its_application() -> None:
    context = Context()
    jvm_of(session(context))
    before = len(bridge._OF_APPLICATIONS)
    del context
    gc.collect()
    assert len(bridge._OF_APPLICATIONS) == before - 1


def test_a_class_is_looked_up_once() -> None:
    asked: list[str] = []
    loader = SimpleNamespace(getContextClassLoader=lambda: "loader")
    java = SimpleNamespace(
        lang=SimpleNamespace(
            Class=SimpleNamespace(forName=lambda name, *_: asked.append(name) or name),
            Thread=SimpleNamespace(currentThread=lambda: loader),
        )
    )
    jvm: Any = jvm_of(SimpleNamespace(sparkContext=Context(), _jvm=SimpleNamespace(java=java)))  # type: ignore[arg-type]
    assert [jvm.cls(name) for name in ("a.B", "a.B", "a.C")] == ["a.B", "a.B", "a.C"]
    assert asked == ["a.B", "a.C"]


def test_one_setting_is_asked_for_without_the_others() -> None:
    context: Any = Context(**{"spark.driver.memory": "2g"})
    assert (started_with(context, "spark.driver.memory"), started_with(context, "spark.scheduler.pool")) == ("2g", None)
