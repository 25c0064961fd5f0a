"""Judge rules under which only results decide, so that no test depends on a clock."""

from planopt_assets.validate.judge_rules import Rules

ANY = 1e15  # the interval of two pairs can be that wide

LENIENT = Rules(
    min_gain=-ANY,
    wall_limit=ANY,
    cpu_limit=ANY,
    cpu_limit_latency=ANY,
    shuffle_limit=1000.0,
    tasks_limit=1000.0,
    noise_limit=1000.0,
    slack_gc_ns=10**12,
    outdone_factor=ANY,
    reject_unchanged=False,
    min_pairs=1,
    max_pairs=1,
)
