"""Questions to the operators of a physical plan, built as Java method handles, so that Spark asks them itself.

py4j costs about 0.3 ms per call, and a large plan has a thousand operators. So a question (a chain of getters that ends
in a text) is built once. Several questions become one Scala function, and Spark maps it over the plan.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.jvm.bridge import each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaObject

    from planopt_assets.engine.jvm.bridge import Jvm

NOTHING = "-"
"""The answer of an operator to which a question does not apply."""

PLAN = "org.apache.spark.sql.execution.SparkPlan"
OPTION, OBJECT, STRING = "scala.Option", "java.lang.Object", "java.lang.String"


class Questions:
    """Builds questions. A handle takes an operator and returns a text."""

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._explain = jvm.scala_object("org.apache.spark.sql.execution.ExplainUtils")
        self._handles = jvm.MethodHandles
        self._lookup = self._handles.publicLookup()
        self._getters: dict[tuple[str, str], Any] = {}

    def answers(self, plan: JavaObject, function: JavaObject) -> Iterator[list[str]]:
        """The answers of every operator to a function of `together`, top down, with query stages and sub-queries."""
        held = self.jvm.ArrayList()
        for root in (plan, *each(self._explain.subqueriesAll(plan))):
            held.add(self._explain.mapPlans(root, function))
        for part in self.jvm.to_python(held):
            yield from part

    def together(self, *questions: Any) -> JavaObject:
        """One Scala function that asks an operator all questions and returns the answers as a list."""
        objects, operator = self.jvm.cls("[Ljava.lang.Object;"), self.jvm.cls(PLAN)
        as_list = self.static("java.util.Arrays", "asList", objects).asCollector(objects, len(questions))
        texts = [q.asType(self.type(self.jvm.cls(OBJECT), operator)) for q in questions]
        handles = self.jvm.array(self.jvm.java.lang.invoke.MethodHandle, *texts)
        asked = self._handles.filterArguments(as_list, 0, handles)
        of_one_operator = self._handles.permuteArguments(
            asked,
            self.type(self.jvm.cls("java.util.List"), operator),
            self.jvm.array(self.jvm.root.int, *[0] * len(questions)),
        )
        return self.jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
            self.jvm.cls("scala.Function1"),
            of_one_operator.asType(self.type(self.jvm.cls(OBJECT), self.jvm.cls(OBJECT))),
        )

    def get(self, owner: str, method: str) -> Any:
        """A method without arguments."""
        if (owner, method) not in self._getters:
            none = self.jvm.array(self.jvm.Class)
            self._getters[owner, method] = self._lookup.unreflect(self.jvm.cls(owner).getMethod(method, none))
        return self._getters[owner, method]

    def given(self, owner: str, method: str, kind: Any, value: Any) -> Any:
        """A method with one argument, which is bound."""
        takes = self.jvm.array(self.jvm.Class, kind)
        handle = self._lookup.unreflect(self.jvm.cls(owner).getMethod(method, takes))
        return self._handles.insertArguments(handle, 1, self.jvm.array(self.jvm.Object, value))

    def static(self, owner: str, method: str, takes: Any) -> Any:
        kinds = self.jvm.array(self.jvm.Class, takes)
        return self._lookup.unreflect(self.jvm.cls(owner).getMethod(method, kinds)).asFixedArity()

    def made(self, owner: str, kinds: tuple[Any, ...], *rest: Any) -> Any:
        """A constructor with all arguments bound except the first."""
        makes = self.jvm.array(self.jvm.Class, *kinds)
        handle = self._lookup.unreflectConstructor(self.jvm.cls(owner).getConstructor(makes))
        return self._handles.insertArguments(handle, 1, self.jvm.array(self.jvm.Object, *rest))

    def chain(self, first: Any, *rest: Any) -> Any:
        """Handles in sequence. The result of one is cast to the argument type of the next."""
        for then in rest:
            taken = then.asType(then.type().changeParameterType(0, first.type().returnType()))
            first = self._handles.filterReturnValue(first, taken)
        return first

    def text(self, *steps: Any) -> Any:
        """A question: the steps, then the result as text."""
        return self.chain(*steps, self._as_text)

    def when(self, test: Any, then: Any) -> Any:
        """`then` if `test` holds, else nothing. Both take any operator, so the test must make the cast safe."""
        return self._handles.guardWithTest(self._of_operator(test), self._of_operator(then), self._nothing)

    def unless(self, test: Any, then: Any) -> Any:
        """Nothing if `test` holds, else `then`."""
        return self._handles.guardWithTest(self._of_operator(test), self._nothing, self._of_operator(then))

    def is_a(self, name: str) -> Any:
        takes = self.type(self.jvm.java.lang.Boolean.TYPE, self.jvm.cls(OBJECT))
        return self._lookup.bind(self.jvm.cls(name), "isInstance", takes)

    def type(self, returns: Any, *takes: Any) -> Any:
        return self.jvm.MethodType.methodType(returns, self.jvm.array(self.jvm.Class, *takes))

    def _of_operator(self, handle: Any) -> Any:
        return handle.asType(self.type(handle.type().returnType(), self.jvm.cls(PLAN)))

    @cached_property
    def _as_text(self) -> Any:
        return self.static(STRING, "valueOf", self.jvm.cls(OBJECT))

    @cached_property
    def _nothing(self) -> Any:
        nothing = self._handles.constant(self.jvm.cls(STRING), NOTHING)
        return self._handles.dropArguments(nothing, 0, self.jvm.array(self.jvm.Class, self.jvm.cls(PLAN)))
