"""A PostgreSQL server of the system's packages, on a socket of its own and on no port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _tool(name: str) -> str:
    """Debian keeps them off the path."""
    found = shutil.which(name) or next((str(p) for p in Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), None)
    if found is None:
        pytest.skip(f"PostgreSQL is not installed here: there is no `{name}`")
    return found


def _account() -> str | None:
    """PostgreSQL refuses to run as root: then another account starts it."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    account = next((name for name in ("postgres", "nobody") if name in known), None)
    if account is None:
        pytest.skip("PostgreSQL does not run as root, and there is no other account to run it")
    return account


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of an empty database."""
    initdb, control = _tool("initdb"), _tool("pg_ctl")
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # short: a socket's path has at most 107 characters
    if account is not None:
        entry = pwd.getpwnam(account)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    data, log = folder / "data", folder / "log"

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, user=account, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        run(initdb, "-D", str(data), "-U", "dagster", "-A", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(control, "-D", str(data), "-l", str(log), "-o", options, "-w", "start")
        try:
            yield f"postgresql+psycopg2://dagster@/postgres?host={folder}"
        finally:
            run(control, "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
