"""Object storage: tables through delta-rs, single files through obstore. Both are the same Rust library below.

They take addresses and credentials from the environment, as the tools of each cloud do. planopt passes no credential on
and stores none. delta-rs has a file system too, but it stops every thread of Python while it waits for an answer: a
user's job could not go on without it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt_assets.delta.place import LOG, Place
from planopt_assets.delta.refusals import StorageRefused, words_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore
    from pyarrow.fs import FileSystem

LIMITS = {"connect_timeout": "5s", "timeout": "30s", "max_retries": "5", "retry_timeout": "30s"}
"""A request takes at most 30 s, and is repeated for 30 s. Both libraries alone would repeat it for three minutes."""
S3 = {"conditional_put": "etag"}
"""A commit is written only if nobody wrote it before. Azure and Google need no option for that."""
PROFILE = {"AWS_FORCE_CREDENTIAL_LOAD": "true"}
"""delta-rs looks for a profile itself, but at an endpoint of its own (MinIO, Ceph) only if it is told to."""


class Objects(Place):
    """Object storage. A file appears at once, whole and durable."""

    @property
    def options(self) -> dict[str, str]:
        return LIMITS | S3 | (PROFILE if _has_profile() else {}) if self._is_s3 else dict(LIMITS)

    @cached_property
    def store(self) -> ObjectStore:
        from obstore.store import from_url

        client: dict[str, Any] = {name: LIMITS[name] for name in ("connect_timeout", "timeout") if name in LIMITS}
        if self._is_s3 and os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1"):
            client["allow_http"] = True  # delta-rs reads it itself
        settings: dict[str, Any] = {"client_options": client, **_repeated(), **_profile(self._is_s3)}
        with asked():
            return from_url(self.location, **settings)

    @cached_property
    def files(self) -> FileSystem:
        from pyarrow.fs import PyFileSystem

        from planopt_assets.delta.object_files import ObjectFiles

        return PyFileSystem(ObjectFiles(self))

    def has_table(self) -> bool:
        return bool(self.sizes(LOG))

    def read(self, path: str) -> bytes | None:
        import obstore

        try:
            with asked():
                return bytes(obstore.get(self.store, path).bytes())
        except FileNotFoundError:
            return None

    def sizes(self, folder: str = "") -> dict[str, int]:
        import obstore

        with asked():
            found = obstore.list_with_delimiter(self.store, folder or None)["objects"]
        return {file["path"].rpartition("/")[2]: file["size"] for file in found}

    def replace(self, path: str, content: bytes, *, durable: bool = False) -> None:
        import obstore

        with asked():
            obstore.put(self.store, path, content, use_multipart=False)

    def create(self, path: str, content: bytes) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with asked():
            try:
                obstore.put(self.store, path, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def delete(self, path: str) -> None:
        import obstore

        with asked():
            obstore.delete(self.store, path)

    def delete_folder(self, path: str) -> None:
        import obstore

        with asked():
            found = [file["path"] for batch in obstore.list(self.store, path or None) for file in batch]
            if found:
                obstore.delete(self.store, found)

    @property
    def _is_s3(self) -> bool:
        return self.location.lower().startswith("s3")


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


def _repeated() -> dict[str, Any]:
    if "max_retries" not in LIMITS:
        return {}
    seconds = timedelta(seconds=float(re.sub(r"s$", "", LIMITS["retry_timeout"])))
    return {"retry_config": {"max_retries": int(LIMITS["max_retries"]), "retry_timeout": seconds}}


def _profile(is_s3: bool) -> dict[str, Any]:
    """A profile of the AWS tools, which delta-rs reads itself, and obstore through boto3."""
    if not is_s3 or not _has_profile():
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError as error:
        raise StorageRefused("AWS_PROFILE is set, and boto3 is not installed, which reads it") from error
    return {"credential_provider": Boto3CredentialProvider()}


def _has_profile() -> bool:
    return "AWS_PROFILE" in os.environ and "AWS_ACCESS_KEY_ID" not in os.environ
