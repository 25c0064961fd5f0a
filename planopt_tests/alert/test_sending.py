"""Messages reach real servers on loopback; a destination that fails is tried a few times, and never raises."""

from __future__ import annotations

import logging
import ssl
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from planopt_assets.alert import sending
from planopt_assets.alert.sending import send
from planopt_assets.model.alerts import Destination, Incident, Message
from planopt_assets.model.redaction import learn
from planopt_tests.alert.servers import Hook, MailBox, certificate

pytestmark = pytest.mark.fast

AT = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
WORSE = Incident(
    "regression/q3/g2", "regression", "q3", "q3: its policy got worse", "wall_ns is 2.1 times <what> was proven"
)
OPENED = Message("sales", WORSE, "opened", 1, AT)
OVER = Message("sales", WORSE, "over", 1, AT)


def at_once(_: float) -> None:
    """No pause between tries."""


def webhook(hook: Hook, kind: str = "webhook") -> Destination:
    return Destination("on_call", kind, url=hook.url)  # type: ignore[arg-type]


def smtp(box: MailBox, **changes: object) -> Destination:
    known = {"host": "127.0.0.1", "port": box.port, "security": "none", "sender": "planopt@example.com"}
    return Destination("mail", "smtp", **{**known, "to": ("a@example.com", "b@example.com"), **changes})  # type: ignore[arg-type]


def test_a_webhook_gets_the_documented_json() -> None:
    with Hook().serving() as hook:
        assert send(webhook(hook), OPENED).sent
    assert hook.bodies == [
        {
            "format": 1,
            "id": "sales/regression/q3/g2/1/opened",
            "workload": "sales",
            "query": "q3",
            "table": "",
            "kind": "regression",
            "incident": "regression/q3/g2",
            "event": "opened",
            "title": "q3: its policy got worse",
            "text": "wall_ns is 2.1 times <what> was proven",
            "at": "2026-03-01T02:30:00+00:00",
        }
    ]


def test_slack_gets_its_own_format_and_no_commands() -> None:
    with Hook().serving() as hook:
        assert send(webhook(hook, "slack"), OVER).sent
    assert hook.bodies == [{"text": "*Over: q3: its policy got worse*\nwall_ns is 2.1 times &lt;what&gt; was proven"}]


def test_a_url_in_the_environment_is_used_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with Hook(statuses=[404]).serving() as hook:
        monkeypatch.setenv("ALERTS_URL", hook.url)
        done = send(Destination("on_call", "webhook", url_env="ALERTS_URL"), OPENED)
    assert hook.paths == ["/hooks/T0/s3cret-path"]
    assert not done.sent
    assert "it answers 404" in done.error
    assert "s3cret-path" not in done.error


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALERTS_URL", raising=False)
    done = send(Destination("on_call", "webhook", url_env="ALERTS_URL"), OPENED)
    assert "ALERTS_URL is not set" in done.error
    assert done.tries == 1


@pytest.mark.parametrize(
    ("statuses", "sent", "tries"),
    [([503, 429], True, 3), ([500, 500, 500, 500], False, 3), ([400], False, 1), ([302], False, 1)],
    ids=["passes", "stays broken", "is wrong", "leads elsewhere"],
)
def test_only_a_failure_that_may_pass_is_tried_again_and_not_for_ever(
    statuses: list[int], sent: bool, tries: int
) -> None:
    with Hook(statuses=list(statuses), headers={"Location": "http://127.0.0.1:1/elsewhere"}).serving() as hook:
        done = send(webhook(hook), OPENED, at_once)
    assert (done.sent, done.tries, len(hook.bodies)) == (sent, tries, tries)


def test_nobody_there_is_an_answer_and_no_error() -> None:
    with Hook().serving() as hook:
        gone = webhook(hook)
    done = send(gone, OPENED, at_once)
    assert (done.sent, done.tries) == (False, 3)
    assert done.error.startswith("PLN-507 alerts: on_call (webhook): the alert could not be sent: no answer")
    assert "s3cret-path" not in done.error


def test_a_server_that_never_comes_to_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "LIMIT_S", 0.3)
    with Hook(drip_s=2.0).serving() as hook:
        done = send(webhook(hook), OPENED, at_once)
    assert "no answer within 0.3 s" in done.error


def test_a_mail_arrives_with_an_id_that_follows_from_the_message() -> None:
    with MailBox().serving() as box:
        assert send(smtp(box), OPENED).sent
        assert send(smtp(box), OPENED).sent
    first, again = box.mails
    assert first["Subject"] == "[planopt] q3: its policy got worse"
    assert (first["From"], first["To"]) == ("planopt@example.com", "a@example.com, b@example.com")
    assert "wall_ns is 2.1 times <what> was proven" in first.get_payload()
    assert first["Message-ID"] == again["Message-ID"]


@pytest.mark.parametrize(
    ("refusals", "sent", "tries"),
    [(["451 later"], True, 2), (["451 later"] * 4, False, 3), (["554 no"], False, 1)],
    ids=["passes", "stays", "is wrong"],
)
def test_a_mail_server_that_refuses(refusals: list[str], sent: bool, tries: int) -> None:
    with MailBox(refuses=list(refusals)).serving() as box:
        done = send(smtp(box), OPENED, at_once)
    assert (done.sent, done.tries) == (sent, tries)


def test_a_mail_goes_through_starttls_with_a_password_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    monkeypatch.setenv("MAIL_PASSWORD", "hunter2-mail")
    with MailBox(wants_login=True).serving(context) as box:
        to = smtp(box, security="starttls", user="me", password_env="MAIL_PASSWORD")
        unknown = send(to, OPENED, at_once)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        trusted = send(to, OPENED, at_once)
        monkeypatch.setenv("MAIL_PASSWORD", "wrong-one")
        refused = send(to, OPENED, at_once)
    assert (unknown.sent, trusted.sent, refused.sent) == (False, True, False)
    assert "CERTIFICATE_VERIFY_FAILED" in unknown.error
    assert refused.error.count("wrong-one") == 0
    assert "535" in refused.error
    assert len(box.mails) == 1


def test_what_no_library_foresees_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "gr\u00fcn-hunter2")  # smtplib cannot encode it
    with MailBox(wants_login=True).serving() as box:
        mailed = send(smtp(box, user="me", password_env="MAIL_PASSWORD"), OPENED, at_once)
    posted = send(Destination("on_call", "webhook", url=f"http://{'x' * 70}.example/s3cret-path"), OPENED, at_once)
    written = send(Destination("file", "file", path="a\0b"), OPENED, at_once)
    for done in (mailed, posted, written):
        assert "PLN-507" in done.error
        assert "hunter2" not in done.error
        assert "s3cret" not in done.error


def test_a_file_gets_one_json_object_a_line(tmp_path: Path) -> None:
    to = Destination("file", "file", path=str(tmp_path / "new" / "alerts.jsonl"))
    assert send(to, OPENED).sent
    assert send(to, OVER).sent
    lines = Path(to.path).read_bytes().splitlines()
    assert [orjson.loads(line)["event"] for line in lines] == ["opened", "over"]


def test_a_file_that_cannot_be_written_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = send(Destination("file", "file", path=str(tmp_path / "taken" / "alerts.jsonl")), OPENED)
    assert not done.sent


def test_the_log_gets_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="planopt.alerts"):
        spread = replace(WORSE, text=WORSE.text.replace(" times ", " times\n"))
        assert send(Destination("log", "log"), replace(OPENED, incident=spread)).sent
    assert caplog.messages == ["opened q3: its policy got worse: wall_ns is 2.1 times <what> was proven"]


@pytest.mark.parametrize("kind", ["webhook", "slack", "file", "smtp", "log"])
def test_no_message_holds_a_secret(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    learn(["k-93fa-secret"])
    said = Incident("gate/x/q", "gate", "q", "q: k-93fa-secret", "jdbc:mysql://me:hunter2@db/x and k-93fa-secret")
    message = Message("sales", said, "opened", 1, AT)
    with Hook().serving() as hook, MailBox().serving() as box:
        file = Destination("file", "file", path=str(tmp_path / "a.jsonl"))
        to = {"webhook": webhook(hook), "slack": webhook(hook, "slack"), "file": file, "smtp": smtp(box)}
        done = send(to.get(kind, Destination("log", "log")), message)
    assert done.sent
    seen = [str(hook.bodies), *(m.as_string() for m in box.mails), *caplog.messages]
    seen += [Path(file.path).read_text()] if kind == "file" else []
    assert not any("k-93fa" in text or "hunter2" in text for text in seen)
