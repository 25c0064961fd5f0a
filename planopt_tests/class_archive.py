"""Classes of Spark and Delta as Java has them in memory, in a file that every Java of the suite maps.

A Java that starts Spark and reads a Delta table parses and verifies many thousand classes first. With this file it maps
them. `tools/test.sh` makes it once; without it the tests run too, and take longer. Only tests use it, through the
variable that `conftest.py` sets.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from planopt_assets.engine.sessions.java import _executable

# Javas of tests live too short for the second compiler, which takes half of the processor time of a first pass of the
# loop: 28 s instead of 49 s; a fourth pass takes the same.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# With one compiler Java keeps 48 MB for compiled code, and throws code away that hundreds of tests need again. Classes
# begin with 21 MB, and every growth is a full collection.
ROOM = "-XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
QUIET = "-Xlog:cds*=off"  # a file of another Java or of other jars is passed over


def java_options() -> str:
    """For every Java of the suite and of the processes it starts."""
    file = archive()
    options = f"{SHORT_LIVED} {ROOM}"
    return f"{options} {QUIET} -XX:SharedArchiveFile={file}" if file and file.exists() else options


def archive() -> Path | None:
    """Where the file belongs, named after what it is made from. None where there is no Java."""
    java = _executable()
    if java is None:
        return None
    found = Path(java).resolve()
    made_from = (found, found.stat().st_mtime_ns, version("pyspark"), version("delta-spark"), SHORT_LIVED)
    name = hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]
    return Path(sys.prefix, "share", "planopt", "test-classes", f"{name}.jsa")


def make() -> None:
    """Run the loop once over one query; its Java writes the classes it has loaded when it ends."""
    file = archive()
    if file is None or file.exists():
        return
    from planopt_tests.conftest import SETTINGS, end, make_tables, workload_of
    from planopt_tests.one_pass import BY_SHOP, run_all

    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        new = Path(folder, "new.jsa")
        settings = {**SETTINGS, "spark.driver.extraJavaOptions": f"{QUIET} -XX:ArchiveClassesAtExit={new}"}
        tables = make_tables(Path(folder))
        run = run_all(workload_of(tables, [BY_SHOP], mode="auto", spark_settings=tuple(sorted(settings.items()))))
        end(run.workspace.spark)
        for older in file.parent.glob("*.jsa"):
            older.unlink()
        if new.exists():  # not every Java can
            new.rename(file)


if __name__ == "__main__":
    make()
