"""Real servers on loopback, started by the test that needs them."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Mail
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


@dataclass
class Hook:
    """An HTTP server that keeps what is posted to it, and answers each request with the next of its statuses."""

    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    drip_s: float = 0.0  # sends its answer one byte at a time, for so long
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[Hook]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.bodies.append(orjson.loads(body))
                hook.paths.append(self.path)
                until = time.monotonic() + hook.drip_s
                while time.monotonic() < until:
                    self.wfile.write(b"H")
                    time.sleep(0.05)
                self.send_response(hook.statuses.pop(0) if hook.statuses else 200)
                for name, value in hook.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Not on the terminal of the tests."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}/hooks/T0/s3cret-path"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


@dataclass
class MailBox:
    """Keeps the mails that an SMTP server got; `refuses` are answers to the first ones."""

    refuses: list[str] = field(default_factory=list)
    wants_login: bool = False
    mails: list[Mail] = field(default_factory=list)
    port: int = 0
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        from email import message_from_bytes, policy

        if self.refuses:
            return self.refuses.pop(0)
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"

    def _login(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"hunter2-mail", handled=False)

    @contextmanager
    def serving(self, tls: Any = None) -> Iterator[MailBox]:
        login = {"auth_required": True, "authenticator": self._login, "auth_require_tls": True}
        controller = Controller(
            self,
            hostname="127.0.0.1",
            port=_free_port(),
            tls_context=tls,
            require_starttls=tls is not None,
            **(login if self.wants_login else {}),
        )
        controller.start()
        self.port = controller.port
        try:
            yield self
        finally:
            controller.stop()


def _free_port() -> int:
    """aiosmtpd cannot tell which port it was given."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed but itself, and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    what = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *what.split(), "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key
