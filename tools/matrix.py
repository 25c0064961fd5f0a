"""Every release of Spark that planopt works with, tried in an environment of its own: `make matrix`.

    make matrix                 all of them, about ten minutes each the first time
    make matrix ARGS="4.2"      this one

Each gets the demo on little data and the capture tests. The environments are in `.planopt/matrix`, and stay there: a
Spark is 450 MB. In each of them only Spark and Delta are its own. All other packages are those of `.venv`, as locked.
Ends with 1 if a release that planopt calls supported fails, and says in which file all output is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from planopt_assets.engine.sessions.supported import REFUSED, SUPPORTED, Release, check_supported
from planopt_assets.errors import SparkUnsupported

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".planopt" / "matrix"
QUERIES = ("late_shipments", "brand_share")
CAPTURE = (
    "planopt_tests/engine/test_scans.py",
    "planopt_tests/engine/test_workspace.py",
    "planopt_tests/observe/test_extractors_agree.py",
    "planopt_tests/observe/test_observation.py",
)
# Of the shell that asks: they would lead into another environment.
FOREIGN = ("PLANOPT_JARS", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONHOME", "SPARK_HOME")


@dataclass(frozen=True, slots=True)
class Tried:
    """One row of the table."""

    spark: str
    delta: str
    outcome: str  # passed | failed | refused
    words: str = ""

    def line(self) -> str:
        return f"{self.spark:<8} {self.delta:<8} {self.outcome:<8} {self.words}".rstrip()


def main(asked: Sequence[str]) -> int:
    unknown = [name for name in asked if name not in SUPPORTED and name not in REFUSED]
    if unknown:
        print(f"no {unknown[0]} here: ask for {', '.join([*SUPPORTED, *REFUSED])}", file=sys.stderr)
        return 2
    rows = [tried(release) for name, release in SUPPORTED.items() if name in (asked or SUPPORTED)]
    rows += [refused(name) for name in REFUSED if name in (asked or REFUSED)]
    print("\n".join(["", Tried("spark", "delta", "outcome").line(), *(row.line() for row in rows)]))
    return int(any(row.outcome == "failed" for row in rows))


def refused(name: str) -> Tried:
    """Nothing is installed for it: the refusal looks at versions only."""
    newest = SUPPORTED[max(SUPPORTED)].delta
    try:
        check_supported(f"{name}.0", newest)
    except SparkUnsupported as error:
        return Tried(name, "", "refused", f"{error.code}: {REFUSED[name]}")
    return Tried(name, newest, "failed", "planopt does not refuse it")


def tried(release: Release) -> Tried:
    folder = FOLDER / release.spark
    log = folder / "matrix.log"
    started = time.monotonic()
    for what, command in steps(release, folder):
        print(f"Spark {release.spark}: {what}", flush=True)
        with log.open("ab") as output:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
        if code != 0:
            return Tried(release.spark, release.delta, "failed", f"{what} ended with {code}: {log.relative_to(ROOT)}")
    return Tried(release.spark, release.delta, "passed", f"{(time.monotonic() - started) / 60:.0f} min")


def steps(release: Release, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """What is done, and the command that does it; whatever was done before is skipped."""
    python = str(folder / "bin" / "python")
    pins = [f"pyspark=={release.spark}", f"delta-spark=={release.delta}"]
    ready = folder / ".ready"
    if not ready.is_file() or ready.read_text() != " ".join(pins):
        packages = layered(folder)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
        yield "packages", [*pip, *pins]
        yield "Delta jars", [python, "-m", "planopt_assets.engine.sessions.jars"]
        ready.write_text(" ".join(pins))
    (folder / "matrix.log").write_bytes(b"")
    with tempfile.TemporaryDirectory(prefix="planopt-matrix-") as demo:
        words = ["demo", *QUERIES, "--scale", "0.01", "--folder", demo]
        yield "demo", [python, "-m", "planopt_assets.cli", *words]
    yield "capture tests", [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-m", "spark", *CAPTURE]


def layered(folder: Path) -> Path:
    """A new environment that sees the packages of this one behind its own."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    below = sysconfig.get_path("purelib")
    (packages / "below.pth").write_text(f"import site; site.addsitedir({below!r})\n")
    return packages


def environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    # Programs of packages, such as the generator of the demo's data, are those of the environment below.
    path = os.pathsep.join([str(Path(sys.executable).parent), own.get("PATH", os.defpath)])
    return {**own, "PYTHONPATH": str(ROOT), "PATH": path}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
