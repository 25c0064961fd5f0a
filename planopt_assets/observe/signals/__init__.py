"""Signals for the rules, read from the plans and metrics of one execution. Pure: a signal holds no times."""
