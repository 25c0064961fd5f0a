"""Names of Java packages and classes, asked for once.

py4j asks the JVM at every step of `jvm.org.apache.spark.sql`, and what is a package makes Java look for a class of that
name in hundreds of jars. PySpark and planopt do so all the time. The answer never changes while a JVM lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary


@contextmanager
def names_asked_once() -> Iterator[None]:
    """While the block runs; only answers are kept, so a name that does not exist is asked for again."""
    from py4j.java_gateway import JavaPackage, JVMView

    known: WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = WeakKeyDictionary()  # by connection, so by JVM

    def once(ask: Callable[[Any, str], Any], whose: Callable[[Any], str]) -> Callable[[Any, str], Any]:
        def answer(owner: Any, name: str) -> Any:
            if name.startswith("_"):
                return ask(owner, name)
            found = known.setdefault(owner._gateway_client, {})
            key = (whose(owner), name)
            if key not in found:
                found[key] = ask(owner, name)
            return found[key]

        return answer

    with (
        patch.object(JavaPackage, "__getattr__", once(JavaPackage.__getattr__, lambda package: str(package._fqn))),
        patch.object(JVMView, "__getattr__", once(JVMView.__getattr__, lambda view: f"view {view._id}")),
    ):
        yield
