"""The settings contract of planopt's session: what is its own, what is the user's, and what holds for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.engine.sessions.session import session_settings
from planopt_assets.model.workload import Workload

pytestmark = pytest.mark.fast

OPTIONS = "spark.driver.extraJavaOptions"


def asked(**settings: str) -> dict[str, str]:
    given = tuple((name.replace("__", "."), value) for name, value in settings.items())
    return session_settings(Workload("w", Path("planopt.yaml"), "store", (), (), "local[2]", given))


def test_options_of_java_are_joined_and_the_users_come_last() -> None:
    """Without planopt's own, Spark's log would fill the terminal."""
    (logging,) = asked()[OPTIONS].split()
    assert logging.startswith("-Dlog4j2.configurationFile=")
    assert asked(spark__driver__extraJavaOptions="-XX:+UseZGC -Da=b")[OPTIONS] == f"{logging} -XX:+UseZGC -Da=b"


def test_an_extension_of_the_user_is_added_to_deltas() -> None:
    (delta,) = asked()["spark.sql.extensions"].split(",")
    assert asked(spark__sql__extensions="my.Own")["spark.sql.extensions"] == f"{delta},my.Own"


def test_any_other_setting_of_the_user_wins() -> None:
    assert asked()["spark.sql.session.timeZone"] == "UTC"
    assert asked(spark__sql__session__timeZone="Asia/Tokyo")["spark.sql.session.timeZone"] == "Asia/Tokyo"
