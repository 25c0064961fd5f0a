"""The Delta jars on this machine: fetched once by `python -m planopt_assets.engine.sessions.jars`.

The `delta-spark` package for Python carries no jar. Its usual helper lets Ivy resolve one at every session start;
here the same Ivy runs once, and a session takes the files:

    SparkSession.builder.config("spark.jars", ",".join(delta_jars()))

Environment: PLANOPT_JARS (a folder with the jars, nothing is fetched), PLANOPT_IVY_SETTINGS (an ivysettings.xml),
PLANOPT_MAVEN_REPOSITORIES (comma list of further repositories).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from planopt_assets.engine.sessions.java import check_java
from planopt_assets.errors import JarsMissing, PlanoptError

FETCH = "run `python -m planopt_assets.engine.sessions.jars`"
SCALA = "2.13"
# Half of the download, and Spark ships its own.
SHIPPED_AND_LARGE = "org.apache.hadoop:hadoop-client-api,org.apache.hadoop:hadoop-client-runtime"


def delta_jars() -> list[str]:
    """Paths of the Delta jars for the installed Spark, sorted; `JarsMissing` if one that Delta needs is not there."""
    folder = _folder()
    found = sorted(folder.glob("*.jar"))
    absent = [need for need in _needed() if not any(jar.name.endswith(need) for jar in found)]
    if absent:
        raise JarsMissing(f"no {' and no '.join(absent)} in this folder", where=str(folder), fix=_fix())
    return [str(jar) for jar in found]


def install() -> list[str]:
    """Fetch the jars unless they are there; the folder appears complete or not at all."""
    try:
        return delta_jars()
    except JarsMissing:
        if os.environ.get("PLANOPT_JARS"):  # the user's own folder: planopt never writes there
            raise
    check_java()
    target = _folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
        complete = Path(scratch, "complete")
        complete.mkdir()
        for jar in _fetch(Path(scratch)):
            jar.rename(complete / jar.name)
        shutil.rmtree(target, ignore_errors=True)
        complete.rename(target)
    return delta_jars()


def coordinate() -> str:
    """The Maven artifact that belongs to the installed packages, e.g. `io.delta:delta-spark_4.2_2.13:4.4.0`."""
    return f"io.delta:{_delta_spark()}:{version('delta-spark')}"


def artifact(jar: str) -> str:
    """The artifact in a jar's file name, without its version.

    >>> artifact("delta-spark_4.2_2.13-4.4.0.jar"), artifact("zstd-jni-1.5.7-7.jar")
    ('delta-spark_4.2_2.13', 'zstd-jni')
    """
    return re.sub(r"-\d[^-]*(-[^-]+)?\.jar$", "", jar)


def _fetch(scratch: Path) -> list[Path]:
    """Let Spark's own Ivy resolve `coordinate()`; the jars that Spark does not ship itself."""
    spark_home = _spark_home()
    noop = scratch / "noop.py"
    noop.touch()
    settings = {
        "spark.jars.ivy": str(scratch / "ivy"),
        "spark.jars.ivySettings": os.environ.get("PLANOPT_IVY_SETTINGS", ""),
        "spark.jars.repositories": os.environ.get("PLANOPT_MAVEN_REPOSITORIES", ""),
    }
    command = [str(spark_home / "bin" / "spark-submit"), "--master", "local[1]", "--packages", coordinate()]
    command += ["--exclude-packages", SHIPPED_AND_LARGE]
    command += [word for key, value in settings.items() if value for word in ("--conf", f"{key}={value}")]
    environment = os.environ | {
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    ivy = subprocess.run([*command, str(noop)], env=environment, capture_output=True, text=True, check=False)
    if ivy.returncode != 0:
        print(ivy.stdout, ivy.stderr, sep="\n", file=sys.stderr)
        raise JarsMissing(
            f"Ivy could not fetch {coordinate()}",
            fix="check the network (a proxy goes into JAVA_TOOL_OPTIONS), or name a mirror in"
            " PLANOPT_MAVEN_REPOSITORIES or PLANOPT_IVY_SETTINGS, or put the jars into a folder and set PLANOPT_JARS",
        )
    shipped = {artifact(jar.name) for jar in (spark_home / "jars").glob("*.jar")}
    fetched = sorted((scratch / "ivy" / "jars").glob("*.jar"))
    # Ivy names its files `organisation_artifact-version.jar`.
    return [jar for jar in fetched if artifact(jar.name.partition("_")[2]) not in shipped]


def _folder() -> Path:
    given = os.environ.get("PLANOPT_JARS")
    return Path(given) if given else Path(sys.prefix, "share", "planopt", "jars", f"delta-{version('delta-spark')}")


def _fix() -> str:
    if os.environ.get("PLANOPT_JARS"):
        return f"put {coordinate()} and what it depends on there, or unset PLANOPT_JARS and {FETCH}"
    return FETCH


def _needed() -> list[str]:
    delta = version("delta-spark")
    return [f"{_delta_spark()}-{delta}.jar", f"delta-storage-{delta}.jar"]


def _delta_spark() -> str:
    spark = ".".join(version("pyspark").split(".")[:2])
    return f"delta-spark_{spark}_{SCALA}"


def _spark_home() -> Path:
    # Not `import pyspark`: only its folder is needed.
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise JarsMissing("pyspark is not installed", fix="run `make demo`, or `pip install planopt`")
    return Path(found.origin).parent


if __name__ == "__main__":
    try:
        jars = install()
    except PlanoptError as error:
        sys.exit(str(error))
    print(f"{len(jars)} Delta jars in {_folder()}")
