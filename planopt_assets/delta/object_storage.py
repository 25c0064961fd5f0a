"""Object storage: tables through delta-rs, single files through obstore. Both are the same Rust library below.

They take addresses and credentials from the environment, as the tools of each cloud do. planopt passes no credential on
and stores none. delta-rs has a file system too, but it stops every thread of Python while it waits for an answer: a
user's job could not go on without it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from planopt_assets.delta.place import LOG, Place
from planopt_assets.delta.refusals import StorageRefused, words_of
from planopt_assets.errors import NativeUnusable
from planopt_assets.model.location import scheme_and_rest

if TYPE_CHECKING:
    import pyarrow as pa
    from obstore.store import ObjectStore
    from pyarrow.dataset import Dataset
    from pyarrow.fs import FileSystem

LIMITS = {"connect_timeout": 5, "timeout": 30, "max_retries": 5, "retry_timeout": 30}
"""A request takes at most 30 s, and is repeated for 30 s. Both libraries alone would repeat it for three minutes."""
S3 = {"conditional_put": "etag"}
"""A commit is written only if nobody wrote it before. Azure and Google need no option for that."""
PROFILE = {"AWS_FORCE_CREDENTIAL_LOAD": "true"}
"""delta-rs looks for a profile itself, but at an endpoint of its own (MinIO, Ceph) only if it is told to."""

_PROBE = "_conditional_put"
_PROCESS = os.getpid()
_VARIABLES = ("AWS_", "AZURE_", "GOOGLE_")


class Objects(Place):
    """Object storage. A file appears at once, whole and durable."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        scheme, rest = scheme_and_rest(location)
        host, _, self._prefix = rest.strip("/").partition("/")
        self._bucket = f"{scheme}://{host}"

    @property
    def options(self) -> dict[str, str]:
        limits = {name: str(value) if name == "max_retries" else f"{value}s" for name, value in LIMITS.items()}
        if not self._bucket.lower().startswith("s3"):
            return limits
        return limits | S3 | (PROFILE if _has_profile() else {})

    @property
    def store(self) -> ObjectStore:
        """The bucket. A forked child would wait forever: the threads that serve it stay behind in its parent."""
        if os.getpid() != _PROCESS:
            raise NativeUnusable.by(OSError("object storage was used before this process was forked"))
        known = sorted((name, value) for name, value in os.environ.items() if name.startswith(_VARIABLES))
        with asked():
            return _client(self._bucket, tuple(LIMITS.items()), tuple(known))

    def key(self, path: str) -> str:
        """A path below this place as the bucket knows it."""
        return "/".join(filter(None, (self._prefix, path)))

    @cached_property
    def files(self) -> FileSystem:
        from pyarrow.fs import PyFileSystem

        from planopt_assets.delta.object_files import ObjectFiles

        return PyFileSystem(ObjectFiles(self))

    def dataset(self, names: Sequence[str], schema: pa.Schema) -> Dataset:
        """Small files are fetched here, side by side: Arrow would ask for one after another, and twice for each."""
        import pyarrow.dataset as ds
        from pyarrow.fs import PyFileSystem

        from planopt_assets.delta.object_files import ObjectFiles

        files = PyFileSystem(ObjectFiles(self, fetched=names))
        return ds.dataset(list(names), schema=schema, format="parquet", filesystem=files)

    def has_table(self) -> bool:
        return bool(self.sizes(LOG))

    def read(self, path: str) -> bytes | None:
        import obstore

        try:
            with asked():
                return bytes(obstore.get(self.store, self.key(path)).bytes())
        except FileNotFoundError:
            return None

    def sizes(self, folder: str = "") -> dict[str, int]:
        import obstore

        with asked():
            found = obstore.list_with_delimiter(self.store, self.key(folder))["objects"]
        return {file["path"].rpartition("/")[2]: file["size"] for file in found}

    def all_sizes(self) -> dict[str, int]:
        """Every file below this place by its path, with its bytes: one request for a thousand of them."""
        import obstore

        above = f"{self._prefix}/" if self._prefix else ""
        with asked():
            batches = list(obstore.list(self.store, self._prefix))
        return {file["path"].removeprefix(above): file["size"] for batch in batches for file in batch}

    def replace(self, path: str, content: bytes, *, durable: bool = False) -> None:
        import obstore

        with asked():
            obstore.put(self.store, self.key(path), content, use_multipart=False)

    def create(self, path: str, content: bytes) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with asked():
            try:
                obstore.put(self.store, self.key(path), content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def keeps_conditions(self) -> bool:
        """Whether a file that exists is not created again. Where it is, two writers overwrite each other's commits."""
        self.create(_PROBE, b"")
        return not self.create(_PROBE, b"")

    def remove(self, path: str) -> None:
        import obstore

        with asked():
            obstore.delete(self.store, self.key(path))

    def remove_folder(self, path: str) -> None:
        import obstore

        assert self.key(path), "never a whole bucket"
        below = Objects(f"{self._bucket}/{self.key(path)}")
        found = [below.key(file) for file in below.all_sizes()]
        with asked():
            if found:
                obstore.delete(self.store, found)


@contextmanager
def asked() -> Iterator[None]:
    """Errors of obstore as errors of a file system."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(words_of(error)) from error
    except BaseError as error:
        raise StorageRefused(words_of(error)) from error


@lru_cache(maxsize=16)
def _client(bucket: str, limits: tuple[tuple[str, int], ...], environment: tuple[tuple[str, str], ...]) -> ObjectStore:
    """Connections are kept as long as limits and environment stay as they are."""
    from obstore.store import from_url

    allowed = dict(limits)
    client: dict[str, Any] = {name: timedelta(seconds=allowed[name]) for name in ("connect_timeout", "timeout")}
    settings: dict[str, Any] = {
        "client_options": client,
        "retry_config": {
            "max_retries": allowed["max_retries"],
            "retry_timeout": timedelta(seconds=allowed["retry_timeout"]),
        },
    }
    if bucket.lower().startswith("s3"):
        client["allow_http"] = dict(environment).get("AWS_ALLOW_HTTP", "").lower() in ("true", "1")
        if _has_profile():
            settings["credential_provider"] = _profile()
    return from_url(bucket, **settings)


def _has_profile() -> bool:
    return "AWS_PROFILE" in os.environ and "AWS_ACCESS_KEY_ID" not in os.environ


def _profile() -> Any:
    """A profile of the AWS tools, which delta-rs reads itself, and obstore through boto3."""
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError as error:
        raise StorageRefused("AWS_PROFILE is set, and boto3 is not installed, which reads it") from error
    return Boto3CredentialProvider()
