"""An S3 server on loopback, in a process of its own: moto's, with faults that a test switches on and off.

It ends when its standard input does, so that none is left behind. Puts are taken one after another: moto looks for the
object of a conditional put first and writes it later, which S3 does at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

import orjson
import requests

from planopt_tests.fresh_python import findable

KEY, SECRET = "AKIATESTTESTTESTTEST", "k-93fa-not-for-anybody-to-see"
BUCKET = "lake"
_SWITCH, _SEEN = "/_fault", "/_seen"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to requests. `left` of them; -1: to all."""

    status: int = 0
    code: str = ""
    delay_s: float = 0.0
    after: bool = False  # the request is served, and its answer lost
    late_s: float = 0.0  # until that is told
    unconditional: bool = False  # a server that does not know conditional puts
    methods: tuple[str, ...] = ("GET", "HEAD", "PUT", "POST", "DELETE")
    part: str = ""  # of the path
    left: int = -1


@dataclass
class S3:
    """A running server, seen from a test."""

    port: int
    buckets: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What delta-rs needs: nothing of it is in a workload file."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",  # nothing beyond loopback is ever asked
            "AWS_METADATA_ENDPOINT": "http://127.0.0.1:9",
        }

    @contextmanager
    def faulty(self, fault: Fault) -> Iterator[None]:
        self._post(_SWITCH, asdict(fault))
        try:
            yield
        finally:
            self._post(_SWITCH, {})

    def requests(self) -> list[str]:
        """The requests since this was last asked."""
        found: list[str] = orjson.loads(self._post(_SEEN, {}))
        return found

    def bucket(self) -> str:
        """A new one."""
        name = f"{BUCKET}-{len(self.buckets)}"
        self.buckets.append(name)
        self._asked("PUT", name)
        return f"s3://{name}"

    def keys(self, location: str) -> list[str]:
        """The objects below a location, without planopt and without delta-rs."""
        bucket, _, prefix = location.removeprefix("s3://").partition("/")
        text = self._asked("GET", bucket, {"list-type": "2", "prefix": prefix}).decode()
        assert "<IsTruncated>true" not in text, "more than a page of them"
        return [part.partition("</Key>")[0] for part in text.split("<Key>")[1:]]

    def get(self, location: str) -> bytes:
        return self._asked("GET", location)

    def put(self, location: str, content: bytes) -> None:
        self._asked("PUT", location, content=content)

    def delete(self, location: str) -> None:
        self._asked("DELETE", location)

    def _asked(self, method: str, location: str, query: dict[str, str] | None = None, content: bytes = b"") -> bytes:
        """Not signed: moto only looks at whose request it is."""
        whose = {"Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20240101/us-east-1/s3/aws4_request"}
        url = f"{self.url}/{quote(location.removeprefix('s3://'))}"
        done = requests.request(method, url, params=query, data=content, headers=whose, timeout=30)
        done.raise_for_status()
        return done.content

    def _post(self, path: str, content: dict[str, Any]) -> bytes:
        done = requests.post(self.url + path, data=orjson.dumps(content), timeout=30)
        done.raise_for_status()
        return done.content


@contextmanager
def s3_server() -> Iterator[S3]:
    server = subprocess.Popen(
        [sys.executable, "-m", "planopt_tests.s3_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": findable()},
    )
    with server:
        assert server.stdout is not None
        yield S3(int(server.stdout.readline()))


# In the server's own process

Environ = dict[str, Any]
Start = Callable[..., Any]


class Faults:
    """Between the clients and moto."""

    def __init__(self, app: Callable[[Environ, Start], Iterable[bytes]]) -> None:
        self._app = app
        self._fault: dict[str, Any] = {}
        self._seen: list[str] = []
        self._switching, self._putting = threading.Lock(), threading.Lock()
        self._over = threading.Event()  # with the fault silence ends too: nobody is left waiting after a test

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path in (_SWITCH, _SEEN):
            return self._switched(path, environ, start)
        fault = self._taken(method, path)
        if not fault:
            return self._served(environ, start)
        over = self._over
        over.wait(fault["delay_s"])
        if fault["unconditional"]:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if not fault["status"]:
            return self._served(environ, start)
        if fault["after"]:
            list(self._served(environ, lambda *_: None))
            over.wait(fault["late_s"])
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(f"{fault['status']} Fault", [("Content-Type", "application/xml"), ("Connection", "close")])
        return [f"<Error><Code>{fault['code']}</Code><Message>a fault</Message></Error>".encode()]

    def _served(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "PUT":
            return self._app(environ, start)
        with self._putting:
            return list(self._app(environ, start))

    def _switched(self, path: str, environ: Environ, start: Start) -> Iterable[bytes]:
        told = orjson.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        answer: list[str] = []
        with self._switching:
            if path == _SWITCH:
                self._fault = told
                self._over.set()
                self._over = threading.Event()
            else:
                answer, self._seen = self._seen, []
        start("200 OK", [("Content-Type", "application/json")])
        return [orjson.dumps(answer)]

    def _taken(self, method: str, path: str) -> dict[str, Any]:
        with self._switching:
            self._seen.append(f"{method} {path}")
            fault = self._fault
            if not fault or method not in fault["methods"] or fault["part"] not in path or not fault["left"]:
                return {}
            fault["left"] -= 1
            return dict(fault)


def main() -> None:
    from moto.server import create_backend_app
    from werkzeug.serving import make_server

    app = Faults(create_backend_app("s3"))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
