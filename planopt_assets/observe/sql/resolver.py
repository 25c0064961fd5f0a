"""What a single name means: a column of a table, an alias, or nothing that is certain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planopt_assets.observe.sql.names import Column, Definition, Frame, Names, Source
from planopt_assets.observe.sql.tokens import NotCanonical

# Words that sqlglot may take for an alias where Spark reads syntax: `FROM a ANTI JOIN b`.
_SYNTAX = frozenset(
    {
        *(
            "all",
            "anti",
            "changes",
            "cluster",
            "cross",
            "distribute",
            "except",
            "for",
            "from",
            "full",
            "group",
            "having",
        ),
        *("in", "inner", "intersect", "join", "lateral", "left", "limit", "minus", "natural", "offset", "on", "order"),
        *(
            "outer",
            "pivot",
            "qualify",
            "right",
            "select",
            "semi",
            "sort",
            "stream",
            "table",
            "tablesample",
            "timestamp",
        ),
        *("union", "unpivot", "using", "values", "version", "view", "where", "window", "with"),
    }
)
_SORTS = frozenset({"order", "sort", "cluster", "distribute"})
# Clauses that may mean an alias of the SELECT list although a table has a column of that name.
ALIASES_FIRST = _SORTS | {"having", "qualify"}
_NAMES_ITS_FIELDS = (exp.Struct, exp.ArraysZip)  # `struct(a)` has a field called `a`, spelled as it is here


@dataclass(frozen=True, slots=True)
class Clause:
    """Where an expression stands: `aliases` are those of the SELECT list it may refer to."""

    name: str
    aliases: Mapping[str, Column]
    distinct: bool = False


class NameResolver:
    """Looks names up in the frames they are used in, as Spark does, and writes down what it finds."""

    def __init__(self, names: Names, after_as: frozenset[int]) -> None:
        self.names = names
        self.after_as = after_as
        self.resolved: dict[int, Column] = {}
        self.seen: set[int] = set()  # columns, by identity

    def column(self, node: exp.Column, frame: Frame, clause: Clause) -> None:
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
                self._qualified(parts, sources[0], clause)
                return
            found = [(s, c) for s in here.sources for c in s.find(name)]
            alias = clause.aliases.get(name) if here is frame else None
            if len(found) == 1 and (clause.name == "on" or not found[0][0].hidden):
                source, column = found[0]
                if alias is None or alias.passed_on is column or clause.name not in ALIASES_FIRST:
                    self._unqualified(parts, source, column, clause)
                    return
            if alias and not found:
                self._refer(parts[0], alias)
                return
            if found or sources or any(not s.closed for s in here.sources):
                break
            here = here.parent
        self.names.fixed |= {part.name.lower() for part in parts}

    def _qualified(self, parts: Sequence[exp.Expr], source: Source, clause: Clause) -> None:
        found = source.find(parts[1].name.lower())
        if len(found) == 1 and self._as_output(parts[1:], found[0], clause):
            self.names.dropped.add(position(parts[0]))
            return
        if source.definition is not None:
            self.names.references[position(parts[0])] = source.definition
        if len(found) == 1:
            self._refer(parts[1], found[0])
            self._fields(parts[2:], found[0].data_type)
        else:
            self.names.fixed |= {part.name.lower() for part in parts[1:]}

    def _unqualified(self, parts: Sequence[exp.Expr], source: Source, column: Column, clause: Clause) -> None:
        if not self._as_output(parts, column, clause):
            self.names.qualifiers[position(parts[0])] = source
            self._refer(parts[0], column)
            self._fields(parts[1:], column.data_type)

    def _as_output(self, parts: Sequence[exp.Expr], column: Column, clause: Clause) -> bool:
        """Sorting a DISTINCT sees the columns of the SELECT list only, so they are called by those names."""
        if not (clause.distinct and clause.name in _SORTS):
            return False
        outputs = [alias for alias in clause.aliases.values() if alias.passed_on is column]
        if len(outputs) != 1:
            return False
        self._refer(parts[0], outputs[0])
        self._fields(parts[1:], column.data_type)
        return True

    def _refer(self, identifier: exp.Expr, column: Column) -> None:
        start = position(identifier)
        self.resolved[start] = column
        if column.definition is not None:
            self.names.references[start] = column.definition
        else:
            self.names.known[start] = column.name

    def _fields(self, parts: Sequence[exp.Expr], data_type: str) -> None:
        """Fields of a struct do not tell upper from lower case; keys of a map, written the same way, do."""
        if data_type.startswith("struct") and "map<" not in data_type:
            self.names.known.update({position(part): part.name.lower() for part in parts})

    def define(self, identifier: exp.Expr, *, is_table: bool) -> Definition:
        self.check_alias(identifier)
        definition = Definition(position(identifier), identifier.name.lower(), is_table)
        self.names.definitions.append(definition)
        self.names.references[definition.start] = definition
        return definition

    def column_aliases(self, alias: exp.TableAlias) -> list[Column]:
        definitions = [self.define(identifier, is_table=False) for identifier in alias.columns]
        return [Column(definition.name, definition) for definition in definitions]

    def check_alias(self, identifier: exp.Expr) -> None:
        unsure = not identifier.args.get("quoted") and position(identifier) not in self.after_as
        if unsure and identifier.name.lower() in _SYNTAX:
            raise NotCanonical(f"`{identifier.name}` could be an alias or a word of the language")

    def fix(self, *relations: Iterable[Column] | None) -> None:
        for column in (c for columns in relations for c in columns or ()):
            self.names.fixed.add(column.name)
            if column.definition is not None:
                self.names.fixed.add(column.definition.name)


def _may_have(source: Source, name: str) -> bool:
    """If not, `a.b` can still be a field of a column `a`."""
    return not source.closed or bool(source.find(name))


def position(node: exp.Expr) -> int:
    start = node.meta.get("start")
    if not isinstance(start, int):
        raise NotCanonical(f"the place of `{node.name or type(node).__name__}` in the text is not known")
    return start
