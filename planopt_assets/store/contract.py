"""The versions an outcome depends on besides the user's inputs; a new one re-opens what was settled."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from planopt_assets.decide.knobs import CATALOGUE_VERSION
from planopt_assets.decide.rules import RULES_VERSION
from planopt_assets.observe.normalise import EXTRACTOR
from planopt_assets.validate.judge import JUDGE_VERSION


@cache
def contract() -> dict[str, str]:
    return {
        "spark": version("pyspark"),
        "delta": version("delta-spark"),
        "extractor": EXTRACTOR,
        "catalogue": CATALOGUE_VERSION,
        "rules": str(RULES_VERSION),
        "judge": JUDGE_VERSION,
    }
