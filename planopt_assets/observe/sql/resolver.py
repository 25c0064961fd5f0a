"""What a single name means: a column of a table, an alias, or nothing certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from planopt_assets.observe.sql.names import Column, Definition, Frame, Names, Source
from planopt_assets.observe.sql.tokens import NotCanonical

# Words that sqlglot may read as an alias where Spark reads syntax: `FROM a ANTI JOIN b`.
_SYNTAX = frozenset({
    "all", "anti", "changes", "cluster", "cross", "distribute", "except", "for", "from", "full", "group", "having",
    "in", "inner", "intersect", "join", "lateral", "left", "limit", "minus", "natural", "offset", "on", "order",
    "outer", "pivot", "qualify", "right", "select", "semi", "sort", "stream", "table", "tablesample", "timestamp",
    "union", "unpivot", "using", "values", "version", "view", "where", "window", "with",
})  # fmt: skip
_SORTS = frozenset({"order", "sort", "cluster", "distribute"})
# In these clauses an alias of the SELECT list can hide a column of a table.
_ALIASES_FIRST = _SORTS | {"having", "qualify"}
_SEES_ALIASES = _ALIASES_FIRST | {"group", "select"}
_NAMES_ITS_FIELDS = (exp.Struct, exp.ArraysZip)  # `struct(a)` has a field `a`, spelled as in the query


class NameResolver:
    """Looks up names in frames, as Spark does, and notes what it finds."""

    def __init__(self, names: Names, after_as: frozenset[int]) -> None:
        self.names = names
        self.after_as = after_as
        self.resolved: dict[int, Column] = {}
        self.seen: set[int] = set()  # columns, by identity

    def column(self, node: exp.Column, frame: Frame, clause: str) -> None:
        """Resolve a column, from its own frame outwards. If that fails, its names are fixed.

        `clause` is sqlglot's key of the clause that the column is in.
        """
        self.seen.add(id(node))
        parts = node.parts
        if isinstance(node.find_ancestor(*_NAMES_ITS_FIELDS, exp.Query), _NAMES_ITS_FIELDS):
            self.names.fixed.add(parts[-1].name.lower())
            self.names.verbatim.add(position(parts[-1]))
        name = parts[0].name.lower()
        here: Frame | None = frame
        while here is not None:
            sources = [s for s in here.sources if s.name == name]
            if len(parts) > 1 and len(sources) == 1 and _may_have(sources[0], parts[1].name.lower()):
                self._qualified(parts, sources[0], frame, clause)
                return
            found = [(s, c) for s in here.sources for c in s.find(name)]
            alias = frame.outputs.get(name) if here is frame and clause in _SEES_ALIASES else None
            if len(found) == 1 and (clause == "on" or not found[0][0].hidden):
                source, column = found[0]
                if alias is None or alias.passed_on is column or clause not in _ALIASES_FIRST:
                    if not self._found(parts, column, frame, clause):
                        self.names.qualifiers[position(parts[0])] = source
                    return
            if alias and not found:
                self._refer(parts[0], alias)
                return
            if found or sources or any(not s.closed for s in here.sources):
                break
            here = here.parent
        self.names.fixed |= {part.name.lower() for part in parts}

    def _qualified(self, parts: Sequence[exp.Expr], source: Source, frame: Frame, clause: str) -> None:
        found = source.find(parts[1].name.lower())
        if len(found) != 1:
            self.names.fixed |= {part.name.lower() for part in parts[1:]}
        elif self._found(parts[1:], found[0], frame, clause):
            self.names.dropped.add(position(parts[0]))
            return
        if source.definition is not None:
            self.names.references[position(parts[0])] = source.definition

    def _found(self, parts: Sequence[exp.Expr], column: Column, frame: Frame, clause: str) -> bool:
        """Note a column and its struct fields. True if it is written without a qualifier.

        The sort of a SELECT DISTINCT sees only the columns of the SELECT list, so it uses their names.
        """
        sorts_distinct = frame.distinct and clause in _SORTS
        outputs = [c for c in frame.outputs.values() if sorts_distinct and c.passed_on is column]
        self._refer(parts[0], outputs[0] if len(outputs) == 1 else column)
        # Struct fields ignore upper and lower case. Map keys are written the same way, and do not.
        if column.data_type.startswith("struct") and "map<" not in column.data_type:
            self.names.known.update({position(part): part.name.lower() for part in parts[1:]})
        return len(outputs) == 1

    def _refer(self, identifier: exp.Expr, column: Column) -> None:
        start = position(identifier)
        self.resolved[start] = column
        if column.definition is not None:
            self.names.references[start] = column.definition
        else:
            self.names.known[start] = column.name

    def define(self, identifier: exp.Expr, *, is_table: bool) -> Definition:
        """Note an alias that may be renamed."""
        self.check_alias(identifier)
        definition = Definition(position(identifier), identifier.name.lower(), is_table)
        self.names.definitions.append(definition)
        self.names.references[definition.start] = definition
        return definition

    def column_aliases(self, alias: exp.TableAlias) -> list[Column]:
        """The columns of `AS t(a, b)`."""
        definitions = [self.define(identifier, is_table=False) for identifier in alias.columns]
        return [Column(definition.name, definition) for definition in definitions]

    def check_alias(self, identifier: exp.Expr) -> None:
        """Refuse an alias that Spark could read as syntax."""
        unsure = not identifier.args.get("quoted") and position(identifier) not in self.after_as
        if unsure and identifier.name.lower() in _SYNTAX:
            raise NotCanonical(f"`{identifier.name}` could be an alias or a word of the language")

    def fix(self, *relations: Iterable[Column] | None) -> None:
        """Keep the names of these columns as they are."""
        for column in (c for columns in relations for c in columns or ()):
            self.names.fixed.add(column.name)
            if column.definition is not None:
                self.names.fixed.add(column.definition.name)


def _may_have(source: Source, name: str) -> bool:
    """False if the source has no such column; then `a.b` can be field `b` of a column `a`."""
    return not source.closed or bool(source.find(name))


def position(node: exp.Expr) -> int:
    """Where the token of a name starts in the text."""
    start = node.meta.get("start")
    if not isinstance(start, int):
        raise NotCanonical(f"the place of `{node.name or type(node).__name__}` in the text is not known")
    return start
