"""Judge rules under which only results decide, so that no test depends on a clock."""

from planopt_assets.validate.judge_rules import Rules

LENIENT = Rules(
    confidence=0.5,
    min_gain=-1000.0,
    wall_limit=1000.0,
    shuffle_limit=1000.0,
    tasks_limit=1000.0,
    noise_limit=1000.0,
    slack_gc_ns=10**12,
    reject_unchanged=False,
    min_pairs=1,
    max_pairs=1,
)
