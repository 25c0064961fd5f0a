"""The file of Spark's classes: used where it fits, passed over where there is none, never by a user's process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from planopt_tests import class_archive
from planopt_tests.class_archive import ROOM, SHORT_LIVED, archive, java_options
from planopt_tests.fresh_python import ROOT
from planopt_tests.test_setup import java

pytestmark = pytest.mark.fast


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java of the test's own, and a place for the file."""
    java(tmp_path / "java" / "bin", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def test_the_file_is_used_once_it_is_there(home: Path) -> None:
    file = archive()
    assert file is not None
    assert java_options() == f"{SHORT_LIVED} {ROOM}"
    file.parent.mkdir(parents=True)
    file.touch()
    assert java_options().endswith(f" -XX:SharedArchiveFile={file}")


def test_another_java_or_spark_needs_another_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = archive()
    os.utime(home / "java" / "bin" / "java", ns=(1, 1))
    second = archive()
    monkeypatch.setattr(class_archive, "version", lambda _: "4.3.0")
    assert len({first, second, archive()}) == 3


def test_without_java_there_is_no_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(home / "nowhere"))
    assert archive() is None
    assert java_options() == f"{SHORT_LIVED} {ROOM}"
    class_archive.make()
    assert not (home / "share").exists()


def test_the_package_knows_nothing_of_it() -> None:
    package = (file.read_text(encoding="utf-8") for file in (ROOT / "planopt_assets").rglob("*.py"))
    assert not any("SharedArchiveFile" in text or "JDK_JAVA_OPTIONS" in text for text in package)
