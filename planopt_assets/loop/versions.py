"""The versions an outcome depends on besides the user's inputs; a new one re-opens what was settled."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import version

from planopt_assets.decide.catalogue import CATALOGUE_VERSION
from planopt_assets.decide.rules import RULES_VERSION
from planopt_assets.observe.plans.normalise import EXTRACTOR
from planopt_assets.validate.judge import JUDGE_VERSION


@cache
def contract(master: str) -> dict[str, str]:
    """`local[*]` is another Spark on another machine, so its cores count; a cluster's are in its settings."""
    return {
        "cores": str(os.cpu_count()) if "*" in master else "",
        "spark": version("pyspark"),
        "delta": version("delta-spark"),
        "extractor": EXTRACTOR,
        "catalogue": CATALOGUE_VERSION,
        "rules": str(RULES_VERSION),
        "judge": JUDGE_VERSION,
    }
