"""Nothing of a query runs before it has passed here: first as Spark's parser reads it, then as its analyzer does.

    parse_gate(spark, "daily", text, registered)  # text → tree; no table is opened, nothing runs
    frame = spark.sql(text, args)                 # analysis, of what the first gate let through
    analysis_gate(spark, "daily", frame, registered, allow_python=False)

Both are needed. Analysis itself runs things: `EXECUTE IMMEDIATE`, the schema inference of a path, the `analyze` of a
Python table function, user-defined functions in `VALUES`; and `spark.sql` runs a command at once. The parser's tree in
turn does not show what a view hides. A query that is a Python callable passes the second gate only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import orjson
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from planopt_assets.engine.gate import sql_allowlist as allowlist
from planopt_assets.engine.gate.limits import excess
from planopt_assets.engine.gate.registered_relations import NOTHING_REGISTERED, RegisteredRelations
from planopt_assets.engine.gate.sql_allowlist import Allowlist, Node
from planopt_assets.errors import SqlRefused, SqlSyntax, SqlTooLarge
from planopt_assets.model.workload import LONGEST_SQL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RegisteredRelations", "analysis_gate", "parse_gate"]

_DELTA_FILES = "org.apache.spark.sql.delta.files.TahoeLogFileIndex"
_FILE_RELATION = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"


def parse_gate(
    spark: SparkSession, query_id: str, sql: str, registered: RegisteredRelations = NOTHING_REGISTERED
) -> None:
    """Refuse a text that is not one plain query; `registered` matters for table names with a dot."""
    _check_text(query_id, sql)
    try:
        # Settings change what a text means (`doubleQuotedIdentifiers`): parse under those that `spark.sql` will use.
        spark._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
        _check_substitution(spark, query_id, sql)
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    except (PySparkException, Py4JError) as error:
        raise _syntax(query_id, error) from error
    try:
        nodes = _inspect(query_id, plan, allowlist.PARSED)
        for window in _check_hidden(spark, query_id, plan, nodes, registered):
            inside = _inspect(query_id, window, allowlist.PARSED)
            if any(node["class"] in allowlist.PARSED.nodes for node in inside):
                _refuse(query_id, "a sub-query in a WINDOW clause hides its tables", "WINDOW")
            nodes += inside
        _check_functions(spark, query_id, nodes)
    except (PySparkException, Py4JError) as error:
        raise _uninspectable(query_id) from error


def is_plain_query(spark: SparkSession, sql: str) -> bool:
    """Whether a text can be analysed again and again: Spark runs a command while it analyses it, and so would we twice.

    What is not on the parser's allowlist counts as a command.
    """
    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        nodes = allowlist.walk(orjson.loads(plan.toJSON()))
        return not any(allowlist.PARSED.offence(node) for node in nodes)
    except (PySparkException, Py4JError, orjson.JSONDecodeError):
        return False


def analysis_gate(
    spark: SparkSession, query_id: str, frame: DataFrame | Any, registered: RegisteredRelations, allow_python: bool
) -> frozenset[str]:
    """Refuse an analysed query that reads anything but registered Delta tables, or runs code that is not Spark's.

    What passes answers with the paths of the tables it reads.
    """
    allowed = allowlist.ANALYSED_WITH_PYTHON if allow_python else allowlist.ANALYSED
    try:
        jvm_frame = frame._jdf if isinstance(frame, DataFrame) else frame
        plan = jvm_frame.queryExecution().analyzed()
        nodes = _inspect(query_id, plan, allowed)
        if plan.isStreaming():
            _refuse(query_id, "it reads a stream", "stream")
        leaves = [leaf for root in (plan, *_items(plan.subqueriesAll())) for leaf in _items(root.collectLeaves())]
        relations = [leaf for leaf in leaves if _class(leaf) == allowlist.LOGICAL_RELATION]
        # Both walks must have seen the same tables. JSON may show one again: `BETWEEN` carries what it was written as.
        if {_attribute_ids(r) for r in relations} != set(allowlist.relation_ids(nodes)):
            _refuse(query_id, "a table of it cannot be identified", "LogicalRelation")
        return frozenset(_check_table(spark, query_id, relation, registered) for relation in relations)
    except (PySparkException, Py4JError) as error:
        raise _uninspectable(query_id) from error


def _attribute_ids(relation: Any) -> frozenset[int]:
    """Ids of a table's columns, which Spark gives out anew wherever a query names a table."""
    return frozenset(int(found) for found in re.findall(r"#(\d+)", relation.output().mkString(",")))


def _inspect(query_id: str, tree: Any, allowed: Allowlist) -> list[Node]:
    """All nodes and expressions of a tree, fetched in one call to the JVM, if each is on the list and within limits."""
    try:
        found = orjson.loads(tree.toJSON())
        nodes = list(allowlist.walk(found))
    except orjson.JSONDecodeError as error:  # orjson stops at 1,024 levels; a level here is a sub-query
        raise _uninspectable(query_id) from error
    for node in nodes:
        if offence := allowed.offence(node):
            _refuse(query_id, offence, allowlist.simple_name(node["class"]))
    if beyond := excess(found, nodes):
        raise SqlTooLarge(beyond[0], query_id=query_id, part=beyond[1])
    return nodes


def _check_hidden(
    spark: SparkSession, query_id: str, plan: Any, nodes: list[Node], registered: RegisteredRelations
) -> list[Any]:
    """Check the names and options of tables, which `toJSON` leaves out; returns the definitions of WINDOW clauses."""
    windows: list[Any] = []
    seen: Counter[str] = Counter()
    for name, node in _logical_nodes(plan):
        seen[name] += 1
        if name == allowlist.UNRESOLVED_RELATION:
            _check_name(spark, query_id, node, registered)
        elif name == allowlist.TIME_TRAVEL:
            _check_time_travel(query_id, node)
        elif name == allowlist.WINDOW_CLAUSE:
            windows += _items(node.windowDefinitions().values().toSeq())
    # Both walks must have seen the same tree, or one of them has missed a table.
    if seen != Counter({name: n for name, n in _classes(nodes).items() if name in allowlist.PARSED.nodes}):
        raise _uninspectable(query_id)
    return windows


def _logical_nodes(plan: Any) -> Iterator[tuple[str, Any]]:
    stack = [plan]
    while stack:
        node = stack.pop()
        name = _class(node)
        yield name, node
        stack += _items(node.children())
        stack += _items(node.innerChildren())  # sub-queries, and the definitions of WITH
        if name == allowlist.TIME_TRAVEL:
            stack.append(node.relation())


def _check_name(spark: SparkSession, query_id: str, relation: Any, registered: RegisteredRelations) -> None:
    """A name with a dot must be known before analysis, which would read ``csv.`/etc/passwd` `` to infer its schema."""
    parts = _name_parts(relation.multipartIdentifier())
    name = ".".join(parts)
    if not relation.options().isEmpty():
        _refuse(query_id, f"`{name} WITH (…)` passes options to the reader", name)
    if len(parts) == 1 or _in_session_catalog(spark, parts):
        return
    if len(parts) == 2 and parts[0].lower() == "delta" and registered.has_path(parts[1]):
        return
    _refuse(query_id, f"`{name}` is not a registered table", name)


def _check_time_travel(query_id: str, travel: Any) -> None:
    """A time must be written out or be a parameter: one that moves with the clock is another version each day."""
    if travel.timestamp().isDefined():
        classes = {node["class"] for node in _inspect(query_id, travel.timestamp().get(), allowlist.PARSED)}
        if moving := sorted(classes - allowlist.FIXED_TIMES):
            what = "`TIMESTAMP AS OF` takes a literal or a parameter, so that the version stays the same"
            _refuse(query_id, what, allowlist.simple_name(moving[0]))


def _in_session_catalog(spark: SparkSession, parts: list[str]) -> bool:
    """A table or a view that exists, so that Spark will not take the name for a path; what it is, analysis tells."""
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) != 2:
        return False
    jvm: Any = spark._jvm
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(parts[1], jvm.scala.Option.apply(parts[0]))
    return catalog.isGlobalTempViewDB(parts[0]) or catalog.tableExists(identifier)


def _check_functions(spark: SparkSession, query_id: str, nodes: list[Node]) -> None:
    """Only Spark's own functions pass, and Python functions of the session, on which the second gate decides."""
    jvm: Any = spark._jvm
    state = spark._jsparkSession.sessionState()
    identifier, some = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier, jvm.scala.Option.apply
    system, builtin, session = some("system"), some("builtin"), some("session")
    for function in sorted({found for node in nodes if (found := allowlist.function_of(node))}):
        registry = state.tableFunctionRegistry() if function.makes_table else state.functionRegistry()
        of_session = registry.lookupFunction(identifier(function.simple, session, system))
        of_spark = registry.lookupFunction(identifier(function.simple, builtin, system))
        if of_session.isDefined() and (function.makes_table or of_session.get().getSource() != "python_udf"):
            _refuse(query_id, f"`{function}` is a user-defined function", str(function))
        if not function.may_be_builtin or (of_spark.isEmpty() and of_session.isEmpty()):
            _refuse(query_id, f"`{function}` is not a built-in function", str(function))
        # Also those of extensions, such as Delta's `table_changes`, call themselves built-in.
        if of_spark.isDefined() and (offence := allowlist.PARSED.offence({"class": of_spark.get().getClassName()})):
            _refuse(query_id, f"`{function}`: {offence}", str(function))


def replaced_functions(spark: SparkSession, names: Sequence[str]) -> list[str]:
    """Those of Spark's functions that a session has a function of its own for, which may be meant instead."""
    jvm: Any = spark._jvm
    registry = spark._jsparkSession.sessionState().functionRegistry()
    identifier, some = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier, jvm.scala.Option.apply
    system, session = some("system"), some("session")
    return [name for name in names if registry.lookupFunction(identifier(name, session, system)).isDefined()]


def _check_table(spark: SparkSession, query_id: str, leaf: Any, registered: RegisteredRelations) -> str:
    relation = leaf.relation()
    # Delta's own relation is an anonymous subclass.
    if not is_instance_of(spark.sparkContext._gateway, relation, _FILE_RELATION):
        name = allowlist.simple_name(_class(relation))
        _refuse(query_id, f"it reads a `{name}`, which is not a Delta table", name)
    files = relation.location()
    if _class(files) != _DELTA_FILES:
        paths = files.rootPaths().mkString(", ")
        _refuse(query_id, f"it reads `{paths}`, which is not a Delta table", paths)
    path = str(files.path().toString())
    registered_as = registered.name_at(path)
    if registered_as is None:
        _refuse(query_id, f"it reads `{path}`, which is not a registered table", path)
    if not files.isTimeTravelQuery():
        # Only the registered name stands for the version that the whole run reads.
        raise SqlRefused(
            f"it reads `{path}` at the newest version, not at the one that this run has pinned",
            query_id=query_id,
            part=path,
            fix=f"name the registered table, `{registered_as}`, in its place, or add VERSION AS OF",
        )
    return path


def _check_text(query_id: str, sql: str) -> None:
    if "\0" in sql:
        line = sql.count("\n", 0, sql.index("\0")) + 1
        raise SqlSyntax("the text holds a NUL character", query_id=query_id, line=line, column=1)
    try:
        size = len(sql.encode())
    except UnicodeEncodeError as error:
        raise SqlSyntax("the text holds half of a surrogate pair", query_id=query_id) from error
    if size > LONGEST_SQL:
        raise SqlSyntax(f"the text has {size:,} bytes, more than {LONGEST_SQL:,}", query_id=query_id)


def _check_substitution(spark: SparkSession, query_id: str, sql: str) -> None:
    """Spark puts settings and environment variables for `${…}` into a text before it parses it."""
    jvm: Any = spark._jvm
    if "${" in sql and jvm.org.apache.spark.sql.internal.VariableSubstitution().substitute(sql) != sql:
        _refuse(query_id, "`${…}` changes the text from outside", "${…}")


def _refuse(query_id: str, what: str, part: str) -> NoReturn:
    raise SqlRefused(what, query_id=query_id, part=part)


def _uninspectable(query_id: str) -> SqlRefused:
    return SqlRefused(
        "its tree cannot be inspected completely", query_id=query_id, part="plan", fix="simplify the query"
    )


def _syntax(query_id: str, error: Exception) -> SqlSyntax:
    """Spark's message without its frame: `[PARSE_SYNTAX_ERROR] Syntax error at …. SQLSTATE: 42601 (line 1, pos 10)`."""
    text = str(getattr(error, "java_exception", error))
    if "StackOverflowError" in text or "FAILED_TO_PARSE_TOO_COMPLEX" in text:
        return SqlSyntax("the text is nested too deep for Spark's parser", query_id=query_id, fix="simplify the query")
    place = re.search(r"\(line (\d+), pos (\d+)\)", text)
    line, column = (int(place[1]), int(place[2]) + 1) if place else (0, 0)
    what = re.sub(r"^\s*\[[\w.]+\]\s*|\.?\s*SQLSTATE.*", "", text.strip().partition("\n")[0])
    return SqlSyntax(what, query_id=query_id, line=line, column=column)


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(at) for at in range(sequence.length())]


def _name_parts(names: Any) -> list[str]:
    return names.mkString("\0").split("\0")


def _class(thing: Any) -> str:
    return thing.getClass().getName()


def _classes(nodes: list[Node]) -> Counter[str]:
    return Counter(node["class"] for node in nodes)
