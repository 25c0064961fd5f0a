"""Stands where Spark could be opened, and must not be."""

from __future__ import annotations

from typing import NoReturn


def no_spark() -> NoReturn:
    raise AssertionError("this store needs no Spark")
