"""The user's workload file, validated whole before anything runs, as a frozen `Workload`."""

from planopt_assets.workload.load import load_workload

__all__ = ["load_workload"]
