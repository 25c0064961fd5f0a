"""The TPC texts and what was changed in them."""

from __future__ import annotations

import doctest
import subprocess
from dataclasses import replace

import pytest

import benchmarks.tpc.adaptations
import benchmarks.tpc.oracle
from benchmarks.tpc.adaptations import ADAPTATIONS, adapted, reasons
from benchmarks.tpc.texts import SUITES, texts
from planopt_tests.fresh_python import ROOT, output_of

pytestmark = pytest.mark.fast

TEXTS = {query_id: text for suite in SUITES for query_id, text in texts(suite).items()}
ADAPTED = {query_id for adaptation in ADAPTATIONS for query_id in adaptation.queries}
WINDOW = 200  # characters: longer than any fragment that an adaptation must quote


def test_all_queries_of_both_suites_are_there_in_order() -> None:
    expected = [*(f"tpch_q{n:02}" for n in range(1, 23)), *(f"tpcds_q{n:02}" for n in range(1, 100))]
    assert list(TEXTS) == expected
    assert all(text.strip() for text in TEXTS.values())


def test_reading_the_texts_writes_nothing_to_the_home(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    code = "from benchmarks.tpc.texts import texts; print(len(texts('tpch')), len(texts('tpcds')))"
    assert output_of(code) == "22 99\n"
    assert list(tmp_path.iterdir()) == []


# Adaptations


@pytest.mark.parametrize("adaptation", ADAPTATIONS, ids=lambda a: a.queries[0])
def test_every_adaptation_finds_what_it_changes_and_says_why(adaptation) -> None:
    assert adaptation.reason
    for query_id in adaptation.queries:
        changed = adapted(query_id, TEXTS[query_id], (adaptation,))
        assert changed.count(adaptation.new) >= TEXTS[query_id].count(adaptation.old) > 0
        assert adaptation.reason in reasons(query_id)


def test_every_other_text_stays_as_duckdb_has_it() -> None:
    assert {query_id for query_id, text in TEXTS.items() if adapted(query_id, text) != text} == ADAPTED
    assert {query_id for query_id in TEXTS if reasons(query_id)} == ADAPTED


def test_an_adaptation_that_no_longer_matches_is_an_error() -> None:
    stale = replace(ADAPTATIONS[0], queries=("tpch_q01",), old="no such words")
    with pytest.raises(ValueError, match="tpch_q01 holds no 'no such words' to adapt"):
        adapted("tpch_q01", TEXTS["tpch_q01"], (stale,))
    assert adapted("tpch_q02", TEXTS["tpch_q02"], (stale,)) == TEXTS["tpch_q02"]


# The repository


def copied(text: str, files: dict[str, str]) -> set[str]:
    """Files that hold a long piece of a query, however it is broken into lines."""
    words = _collapsed(text)
    pieces = [words[at : at + WINDOW] for at in range(0, max(1, len(words) - WINDOW), WINDOW)]
    return {name for name, content in files.items() if any(piece in content for piece in pieces)}


def _collapsed(text: str) -> str:
    return "".join(text.lower().split())


def _repository() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    files = [ROOT / name for name in listed if name.endswith((".py", ".sql", ".md", ".yaml", ".json", ".txt"))]
    return {str(f.relative_to(ROOT)): _collapsed(f.read_text(encoding="utf-8")) for f in files if f.is_file()}


def test_no_query_text_is_in_the_repository() -> None:
    files = _repository()
    assert "benchmarks/tpc/adaptations.py" in files
    assert {query_id: where for query_id, text in TEXTS.items() if (where := copied(text, files))} == {}


def test_a_copied_query_would_be_found() -> None:
    text = TEXTS["tpcds_q14"]
    assert copied(text, {"q14.sql": _collapsed(text.replace("\n", " ")), "other.sql": "select1"}) == {"q14.sql"}


@pytest.mark.parametrize("module", [benchmarks.tpc.adaptations, benchmarks.tpc.oracle])
def test_the_examples_of_a_module_are_true(module) -> None:
    result = doctest.testmod(module)
    assert (result.attempted > 0, result.failed) == (True, 0)
