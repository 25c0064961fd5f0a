"""The workload as it was: at a commit of its repository, or as a store last observed it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from planopt_assets.errors import BaselineUnreadable, PlanoptError
from planopt_assets.model.redaction import HIDDEN
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.codecs.observing import ARTIFACTS, DETAILS
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.workload import load_workload


@contextmanager
def baseline_of(workload: Workload, name: str) -> Iterator[Workload]:
    """The baseline that a person named: the folder of a store, or anything that git knows as a commit."""
    if (Path(name) / "plan_artifacts").is_dir():
        yield from_store(workload, name)
    else:
        with at_commit(workload, name) as before:
            yield before


@contextmanager
def at_commit(workload: Workload, ref: str) -> Iterator[Workload]:
    """The repository as of a commit, in a folder that is gone afterwards.

    Tables and store are those of the branch, because a repository holds no data. To find them, the repository lies in
    the scratch folder at its own path: there `../lake/orders` leads to the branch's path with the scratch folder before
    it. A commit without the workload file has no queries.
    """
    folder = workload.file.parent
    commit = _git(folder, ref, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    top = Path(_git(folder, ref, "rev-parse", "--show-toplevel").decode().removesuffix("\n")).resolve()
    with TemporaryDirectory(prefix="planopt-baseline-") as scratch:
        place = Path(scratch).resolve()
        _check_out(top, ref, commit, place)
        file = _within(place, workload.file)
        if not file.is_file():
            yield replace(workload, queries=())
            return
        try:
            before = load_workload(file)
        except PlanoptError as error:
            raise BaselineUnreadable(
                f"the workload file at {ref} has a mistake: {error}", where=ref, fix="choose a commit that loads"
            ) from error
        if shared := [path for path in before.sql_files if Path(path).is_relative_to(top)]:
            raise BaselineUnreadable(
                f"the workload file at {ref} names {shared[0]} by an absolute path, which is the branch's own file",
                where=ref,
                fix="name SQL files relative to the workload file",
            )
        tables = tuple(replace(t, path=_of_branch(t.path, place)) for t in before.tables)
        yield replace(before, tables=tables, store=workload.store)


def _check_out(top: Path, ref: str, commit: str, place: Path) -> None:
    """All files of a commit, through an index of its own: neither the branch's index nor its files are touched."""
    target, index = _within(place, top), {"GIT_INDEX_FILE": str(place / "index")}
    target.mkdir(parents=True)
    _git(top, ref, "-c", "core.sparseCheckout=false", "read-tree", commit, **index)
    _git(top, ref, "checkout-index", "--all", "--quiet", f"--prefix={target}/", **index)


def from_store(workload: Workload, root: str) -> Workload:
    """The queries as a store last captured them, by the canonical text it keeps.

    A Python query, or one with a secret in its text, is not kept whole: it counts as new, and nothing is compared.
    """
    snapshot = Snapshot(root, workload.name)
    newest = {a.query_id: a.stamp.run_id for a in snapshot.read(ARTIFACTS) if a.captured and a.from_text}
    if not newest:
        raise BaselineUnreadable(
            f"the store has no observation of workload {workload.name}",
            where=root,
            fix="run `planopt run` on the baseline first, or give a git ref",
        )
    kept = [a for a in snapshot.read(ARTIFACTS) if newest.get(a.query_id) == a.stamp.run_id and a.from_text]
    texts = {d.observation_id: d.canonical_sql for d in snapshot.read(DETAILS)}
    queries = []
    for query_id in newest:
        seen = sorted((a for a in kept if a.query_id == query_id), key=lambda a: a.binding)
        text = texts.get(seen[0].observation_id)
        if text is None or HIDDEN in text:
            continue
        bindings = tuple(tuple(sorted(json.loads(a.parameters or "{}").items())) for a in seen)
        queries.append(Query(query_id, sql=text, bindings=bindings))
    return replace(workload, queries=tuple(queries))


def _within(place: Path, path: Path) -> Path:
    """
    >>> _within(Path("/tmp/x"), Path("/home/me/jobs"))
    PosixPath('/tmp/x/home/me/jobs')
    """
    return place.joinpath(*path.parts[1:])


def _of_branch(path: str | None, place: Path) -> str | None:
    """A relative path of the file leads into the scratch folder; an absolute one, or a URI, means what it says."""
    if path is None or not Path(path).is_relative_to(place):
        return path
    return str(Path("/") / Path(path).relative_to(place))


def _git(folder: Path, ref: str, *arguments: str, **environment: str) -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment})
    except FileNotFoundError as error:
        raise BaselineUnreadable("git is not installed", where=ref, fix="install it, or give a store") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise BaselineUnreadable(
            said[0] if said else f"git ended with {done.returncode}",
            where=ref,
            fix="give a commit, branch or tag of the repository that holds the workload file, or the folder of a store",
        )
    return done.stdout
