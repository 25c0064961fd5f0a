"""The modules of a workload that a Python query imports, by their syntax trees. Nothing is imported to find them.

A module is the workload's own if its file is under the folder of the workload file. An absolute name is looked up in
the folder of the importing file and in each folder above it, up to that of the workload: any of these may be on the
path when the query runs. What is found in more than one counts in each. Installed modules do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

Names = tuple[str, ...]
_RUNS_TEXT = frozenset({"exec", "eval"})  # as methods they are something else: `DataFrame.eval`
_RUNS_FILE = frozenset({"run_path", "run_module", "spec_from_file_location"})
_IMPORTS_BY_NAME = frozenset({"import_module", "__import__"})


@dataclass(frozen=True, slots=True)
class Found:
    """What a module imports of the workload, itself left out."""

    modules: tuple[tuple[str, str], ...]  # path below the folder, hash; sorted
    not_followed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Import:
    """`from ..a.b import c` is level 2, names `a`, `b`, and the parts (`c`,), which may be modules as well."""

    level: int
    names: Names
    parts: Names = ()


@dataclass(frozen=True, slots=True)
class _Parsed:
    hash: str
    imports: tuple[_Import, ...] = ()
    dynamic: tuple[str, ...] = ()  # `import_module(…) in line 3`


def own_modules(file: Path, folder: Path, *, only: str | None = None) -> Found:
    """All modules below `folder` that the module in `file` imports, directly or through others of them.

    `only` is the one top-level name that is looked up: the package of a query that is installed itself.
    """
    seen: dict[Path, _Parsed] = {}
    waiting, listed = [file], _Listed()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen[at] = parsed = _parsed(_bytes(at))
        for one in parsed.imports:
            if one.level or only in (None, one.names[0]):
                waiting += _files(one, at, folder, listed)
    hashes = ((_below(at, folder), parsed.hash) for at, parsed in seen.items() if at != file)
    said = (f"{_below(at, folder)}: {words}" for at, parsed in seen.items() for words in parsed.dynamic)
    return Found(tuple(sorted(hashes)), tuple(sorted(said)))


class _Listed(dict[Path, frozenset[str]]):
    """What is in a folder, listed once: most names that are looked up are those of installed modules."""

    def __missing__(self, folder: Path) -> frozenset[str]:
        try:
            self[folder] = frozenset(entry.name for entry in folder.iterdir())
        except OSError:
            self[folder] = frozenset()
        return self[folder]

    def module(self, folder: Path, name: str) -> Iterator[Path]:
        """The module of a name in a folder, or the first file of its package."""
        if f"{name}.py" in self[folder]:
            yield folder / f"{name}.py"
        if name in self[folder] and "__init__.py" in self[folder / name]:
            yield folder / name / "__init__.py"


def _files(wanted: _Import, at: Path, folder: Path, listed: _Listed) -> Iterator[Path]:
    """The files that an import runs: every package on the way, the module, and the parts that are modules."""
    above = [place for place in at.parents if place == folder or folder in place.parents]
    for start in above[wanted.level - 1 : wanted.level] if wanted.level else above:
        place = start
        if wanted.level and "__init__.py" in listed[place]:
            yield place / "__init__.py"
        for name in wanted.names:
            yield from listed.module(place, name)
            place = place / name
            if not listed[place]:
                break
        for part in wanted.parts:
            if part == "*":
                yield from sorted(place / name for name in listed[place] if name.endswith(".py"))
            else:
                yield from listed.module(place, part)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:  # the query will not run either; its error says more
        return f"unreadable: {error.strerror}".encode()


def _below(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.name


@lru_cache(maxsize=1024)
def _parsed(data: bytes) -> _Parsed:
    """Comments and formatting are in no tree. What cannot be parsed counts byte by byte."""
    try:
        tree = ast.parse(data)
        spelled: list[str] = []
        _spell(tree, spelled)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Parsed(hashlib.sha256(data).hexdigest()[:16], dynamic=("it cannot be parsed",))
    imports, dynamic = [], []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imports += [_Import(0, tuple(alias.name.split("."))) for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                path = tuple(module.split(".")) if module else ()
                imports.append(_Import(level, path, tuple(alias.name for alias in names)))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _IMPORTS_BY_NAME:
                match node.args:
                    case [ast.Constant(value=str(literal)), *_] if all(map(str.isidentifier, literal.split("."))):
                        imports.append(_Import(0, tuple(literal.split("."))))
                    case _:
                        dynamic.append(f"{name}(…) in line {node.lineno}")
            case ast.Call(func=ast.Name(id=name)) if name in _RUNS_TEXT:
                dynamic.append(f"{name}(…) in line {node.lineno}")
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _RUNS_FILE:
                dynamic.append(f"{name}(…) in line {node.lineno}")
    text = "".join(spelled).encode()  # `repr` escapes what UTF-8 cannot encode
    return _Parsed(hashlib.sha256(text).hexdigest()[:16], tuple(imports), tuple(dynamic))


def _spell(node: Any, out: list[str]) -> None:
    """A tree as text, without places and without empty fields: newer Pythons add fields that older source leaves empty.

    >>> out = []
    >>> _spell(ast.parse("x=5"), out)
    >>> "".join(out)
    "Module(body=[Assign(targets=[Name(id=str 'x';ctx=Store())]value=Constant(value=int 5;))])"
    """
    if isinstance(node, ast.AST):
        out.append(f"{type(node).__name__}(")
        for name in node._fields:
            value = getattr(node, name, None)
            # The kind of a constant is how it is spelled: `u"x"` is "x".
            if value is not None and value != [] and name != "kind":
                out.append(f"{name}=")
                _spell(value, out)
        out.append(")")
    elif isinstance(node, list):
        out.append("[")
        for item in node:
            _spell(item, out)
        out.append("]")
    else:
        out.append(f"{type(node).__name__} {node!r};")
