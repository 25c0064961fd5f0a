"""Set-up: a fresh machine gets everything, or one line that says what is missing and how to get it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from planopt_assets.engine.sessions.jars import artifact, delta_jars, install
from planopt_assets.engine.sessions.java import check_java, java_release
from planopt_assets.errors import JarsMissing, JavaMissing, JavaTooOld

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parent.parent
TARGETS = {"help", "demo", "demo-cluster", "test", "soak", "matrix", "ui", "lint", "bench", "lock", "clean"}


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def java(folder: Path, release: str) -> None:
    program(folder, "java", f"echo 'openjdk version \"{release}\" 2025-04-15' >&2")


# Jars


def test_a_machine_without_jars_is_told_to_fetch_them(tmp_path, monkeypatch):
    monkeypatch.delenv("PLANOPT_JARS", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(JarsMissing) as error:
        delta_jars()
    assert error.value.fix == "run `python -m planopt_assets.engine.sessions.jars`"


def test_an_empty_jar_folder_is_an_error_that_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANOPT_JARS", str(tmp_path))
    with pytest.raises(JarsMissing, match=r"PLN-201 .*run `python -m planopt_assets.engine.sessions.jars`"):
        delta_jars()


def test_a_jar_folder_without_delta_storage_is_incomplete(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANOPT_JARS", str(tmp_path))
    (tmp_path / "io.delta_delta-spark_4.2_2.13-4.4.0.jar").touch()
    with pytest.raises(JarsMissing, match=r"no delta-storage-4\.4\.0\.jar"):
        delta_jars()


def test_a_complete_jar_folder_is_returned_sorted_and_left_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANOPT_JARS", str(tmp_path))
    delta = version("delta-spark")
    names = ["delta-storage-{}.jar", "another-1.0.jar", "io.delta_delta-spark_4.2_2.13-{}.jar"]
    for name in names:
        (tmp_path / name.format(delta)).touch()
    assert delta_jars() == sorted(str(tmp_path / name.format(delta)) for name in names)
    assert install() == delta_jars()


def test_planopt_never_fetches_into_a_folder_the_user_gave(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANOPT_JARS", str(tmp_path))
    with pytest.raises(JarsMissing):
        install()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("jar", "name"),
    [
        ("delta-spark_4.2_2.13-4.4.0.jar", "delta-spark_4.2_2.13"),
        ("zstd-jni-1.5.7-3.jar", "zstd-jni"),
        ("RoaringBitmap-1.6.10.jar", "RoaringBitmap"),
        ("log4j-slf4j2-impl-2.25.4.jar", "log4j-slf4j2-impl"),
    ],
)
def test_an_artifact_is_a_jar_name_without_its_version(jar, name):
    assert artifact(jar) == name


def test_looking_for_jars_does_not_load_spark():
    loaded = "import sys, planopt_assets.engine.sessions.jars; print('pyspark' in sys.modules, 'delta' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.split() == ["False", "False"]


# Java


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    """The only folder on the PATH; no JAVA_HOME."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path / "bin"


@pytest.mark.parametrize("release", ["17.0.15", "21", "25.0.1"])
def test_java_17_and_newer_are_good(path, release):
    java(path, release)
    assert check_java() == release


@pytest.mark.parametrize("release", ["1.8.0_402", "11.0.22", "16.0.2"])
def test_an_older_java_is_refused_with_its_version(path, release):
    java(path, release)
    with pytest.raises(JavaTooOld, match=f"PLN-203 .*Java {re.escape(release)} is too old"):
        check_java()


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "apt-get install -y openjdk-17-jre-headless"),
        ("dnf", "dnf install -y java-17-openjdk-headless"),
        ("brew", "brew install openjdk@17"),
        ("none", "install a Java 17 or newer and set JAVA_HOME"),
    ],
)
def test_no_java_names_the_command_of_this_system(path, manager, command):
    program(path, manager, "exit 1")
    with pytest.raises(JavaMissing, match=f"PLN-202 .*{command}"):
        check_java()


def test_a_java_that_does_not_start_counts_as_none(path):
    program(path, "java", "echo 'Unable to locate a Java Runtime.' >&2; exit 1")
    with pytest.raises(JavaMissing, match="PLN-202"):
        check_java()


def test_java_home_goes_before_the_path_even_when_it_is_wrong(path, tmp_path, monkeypatch):
    java(path, "17.0.15")
    java(tmp_path / "home" / "bin", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert check_java() == "21.0.2"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaMissing, match="no Java in JAVA_HOME"):
        check_java()


@pytest.mark.parametrize(("noted", "release"), [('JAVA_VERSION="21.0.2"\n', "21"), ("", "17"), (None, "17")])
def test_the_release_of_java_is_read_from_its_folder_and_asked_for_only_where_that_does_not_tell(
    path, tmp_path, noted, release
):
    java(path, "17.0.15")
    if noted is not None:
        (tmp_path / "release").write_text(f'IMPLEMENTOR="Somebody"\n{noted}')
    assert java_release() == release


def test_the_folder_of_java_is_found_through_links(path, tmp_path):
    java(tmp_path / "jdk" / "bin", "17.0.15")
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="25"')
    path.mkdir(exist_ok=True)
    (path / "java").symlink_to(tmp_path / "jdk" / "bin" / "java")
    assert java_release() == "25"


def test_without_java_there_is_no_release(path):
    assert java_release() is None


# tools/setup.sh on a machine that has only the named programs


def set_up(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    tools = tmp_path / "checkout" / "tools"
    tools.mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "setup.sh", tools)
    for name in ("dirname", "mkdir", "rm", "sed", "tail", "touch"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    bash = shutil.which("bash") or "bash"
    environment = {"PATH": str(tmp_path / "bin"), **environment}
    return subprocess.run([bash, tools / "setup.sh"], env=environment, capture_output=True, text=True, check=False)


def test_set_up_without_python_prints_one_line_with_the_fix(tmp_path):
    program(tmp_path / "bin", "id", "echo 1000")
    program(tmp_path / "bin", "apt-get", "exit 1")
    program(tmp_path / "bin", "python3", "exit 127")  # a pyenv shim without its Python
    answer = set_up(tmp_path)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr == (
        "set-up: no Python 3.11 or newer with the venv module."
        " Fix: sudo apt-get install -y python3 python3-venv, or PYTHON=/path/to/python make ...\n"
    )


@pytest.mark.parametrize("old_java", [None, "11.0.22"])
def test_set_up_without_java_prints_one_line_with_the_fix(tmp_path, old_java):
    program(tmp_path / "bin", "id", "echo 1000")
    program(tmp_path / "bin", "dnf", "exit 1")
    if old_java:
        java(tmp_path / "bin", old_java)
    answer = set_up(tmp_path, PYTHON=sys.executable)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr == "set-up: no Java 17 or newer. Fix: sudo dnf install -y java-17-openjdk-headless\n"


def test_set_up_installs_java_for_root_on_debian_and_shows_why_it_could_not(tmp_path):
    program(tmp_path / "bin", "id", "echo 0")
    program(tmp_path / "bin", "apt-get", 'echo "E: $*"; exit 100')
    answer = set_up(tmp_path, PYTHON=sys.executable)
    assert answer.returncode == 1
    assert answer.stdout == "set-up: installing Java\n"
    assert answer.stderr.splitlines() == [
        "E: update",
        "E: install -y --no-install-recommends default-jre-headless",
        "set-up: `install_java` failed, all output is in .venv/setup.log."
        " Fix: apt-get install -y openjdk-17-jre-headless",
    ]


# Files that must agree with each other


def test_the_lock_names_no_host_and_has_a_hash_for_every_package():
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    packages = re.split(r"\n(?=\S)", lock.strip())
    assert len(packages) > 50
    assert [p for p in packages if not re.fullmatch(r"\S+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+", p)] == []


def test_the_lock_fits_the_project():
    locked = dict(re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = map(Requirement, [*project["dependencies"], *(line for extra in extras for line in extra)])
    assert [str(w) for w in wanted if not w.specifier.contains(locked.get(w.name.replace(".", "-"), "0"))] == []


def test_make_help_lists_every_target():
    answer = subprocess.run(["make", "help"], capture_output=True, text=True, check=True, cwd=ROOT)
    listed = [line.split()[:2] for line in answer.stdout.splitlines() if line.startswith("make ")]
    assert {target for _, target in listed} == TARGETS


def test_every_make_command_in_the_readme_is_a_target():
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("no README yet")
    blocks = re.findall(r"^```sh\n(.*?)^```", readme.read_text(), re.MULTILINE | re.DOTALL)
    commands = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    used = {word for words in commands if words[:1] == ["make"] for word in words[1:] if "=" not in word}
    assert used <= TARGETS


def test_the_dagster_settings_load_without_any_environment(tmp_path, monkeypatch):
    import dagster as dg

    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with dg.DagsterInstance.get() as instance:
        assert not instance.telemetry_enabled
        assert not instance.run_retries_enabled
        assert instance.freshness_enabled
        assert instance.get_concurrency_config().pool_config.default_pool_limit == 1
        assert instance.run_monitoring_settings["free_slots_after_run_end_seconds"] > 0
