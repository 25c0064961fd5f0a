"""Statements from `sql/*.sql`: one block each, headed by `-- field | field | …`; `@name@` stands for a path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "sql"


@dataclass(frozen=True, slots=True)
class Case:
    head: tuple[str, ...]
    sql: str

    def at(self, places: dict[str, str]) -> Case:
        """The same case with the paths of this run."""
        return Case(tuple(_fill(field, places) for field in self.head), _fill(self.sql, places))


def read(file: str) -> list[Case]:
    blocks = (FOLDER / file).read_text(encoding="utf-8").strip().split("\n\n")
    heads_and_texts = (block.split("\n", 1) for block in blocks)
    return [Case(tuple(head.removeprefix("-- ").split(" | ")), sql) for head, sql in heads_and_texts]


def _fill(text: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        text = text.replace(f"@{name}@", path)
    return text
