"""The plans in `explains/`, each as Spark's plan tree and as formatted text."""

from __future__ import annotations

import json

from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.model.plan import Plan
from planopt_assets.observe.explain.text import parse_formatted
from planopt_assets.observe.plans.normalise import normalise
from planopt_tests.observe.captured import Info
from planopt_tests.observe.record_explains import DATA, EXPLAINS

TABLES = {f"{DATA}/{name}": name for name in ("sales", "shops", "visits")}
CASES = sorted(tuple(file.name.split(".")[:2]) for file in EXPLAINS.glob("*.txt"))


def text_of(name: str, phase: str) -> str:
    return (EXPLAINS / f"{name}.{phase}.txt").read_bytes().decode()


def tree_of(name: str, phase: str) -> Info:
    return json.loads((EXPLAINS / f"{name}.{phase}.json").read_text(encoding="utf-8"))


def from_text(text: str, phase: str) -> Plan:
    return parse_formatted(text, phase=phase, tables=TABLES, first_id=FIRST_EXPRESSION_ID)


def from_tree(tree: Info, phase: str) -> Plan:
    return normalise(tree, phase=phase, tables=TABLES, first_id=FIRST_EXPRESSION_ID)
