"""The Java that Spark will start: is it there, and is it new enough?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from planopt_assets.errors import JavaMissing, JavaTooOld

OLDEST = 17

# The first package manager found on the PATH wins.
_INSTALL = {
    "apt-get": "apt-get install -y openjdk-17-jre-headless",
    "dnf": "dnf install -y java-17-openjdk-headless",
    "brew": "brew install openjdk@17 && export JAVA_HOME=$(brew --prefix openjdk@17)",
}


def check_java() -> str:
    """The version of the Java that Spark will use, e.g. `17.0.15`; an error with the install command otherwise."""
    home, java = os.environ.get("JAVA_HOME"), _executable()
    if java is None and home:
        raise JavaMissing(f"no Java in JAVA_HOME={home}", fix="unset JAVA_HOME, or point it to a Java 17 or newer")
    version = _version(java) if java else None
    if java is None or version is None:
        raise JavaMissing(f"no Java that starts; Spark needs {OLDEST} or newer", fix=install_command())
    if major(version) < OLDEST:
        fix = f"point JAVA_HOME to a Java {OLDEST} or newer" if home else install_command()
        raise JavaTooOld(f"Java {version} is too old; Spark needs {OLDEST} or newer", where=java, fix=fix)
    return version


def java_release() -> str | None:
    """The feature release of the Java that Spark will use, such as `17`; None where there is none.

    Every Java has a file that tells it, so that none is started for it. Only where that cannot be found, as behind the
    launcher of macOS, is it asked; once.
    """
    java = _executable()
    if java is None:
        return None
    version = _noted_version(Path(java).resolve().parents[1] / "release") or _asked_version(java)
    return None if version is None else str(major(version))


def install_command() -> str:
    """The command that installs a suitable Java on this system."""
    for manager, command in _INSTALL.items():
        if shutil.which(manager):
            return command if manager == "brew" or os.geteuid() == 0 else f"sudo {command}"
    return f"install a Java {OLDEST} or newer and set JAVA_HOME"


def major(version: str) -> int:
    """The feature release of a version string.

    >>> major("17.0.15"), major("21"), major("1.8.0_402")
    (17, 21, 8)
    """
    numbers = [int(n) for n in re.findall(r"\d+", version)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _executable() -> str | None:
    """As Spark's own bin/spark-class: a JAVA_HOME that is set is used, right or wrong."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home, "bin")) if home else None)


def _noted_version(file: Path) -> str | None:
    try:
        found = re.search(r'^JAVA_VERSION="(\d[^"]*)"', file.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return None
    return found.group(1) if found else None


@cache
def _asked_version(java: str) -> str | None:
    return _version(java)


def _version(java: str) -> str | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return found.group(1) if found else None
