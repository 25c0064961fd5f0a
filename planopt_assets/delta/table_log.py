"""A table's log at one version, read whole: files, commits, size, and damages. No Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.delta.damages import VERIFIED_BYTES, file_damages, log_damages
from planopt_assets.delta.live_files import live_files, recent_commits
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.refusals import refusal, unreachable_table
from planopt_assets.model.data_file import TableLog

if TYPE_CHECKING:
    from planopt_assets.model.table_facts import TableFacts


def read_table_log(facts: TableFacts, *, most_bytes: int | None = VERIFIED_BYTES) -> TableLog:
    """The log up to the version of `facts`; of the data files up to `most_bytes` are verified, None: all."""
    log = LogFiles(facts.name, facts.location)
    try:
        files = live_files(log, facts)
        noted = log.checksum(facts.version)
        damages = [*log_damages(log, facts.version, files), *file_damages(log.folder, files, most_bytes=most_bytes)]
        return TableLog(
            files,
            recent_commits(log, facts.version),
            len(log.commits(facts.version)),
            *log.size,
            checked="numFiles" in noted and "tableSizeBytes" in noted,
            damages=tuple(damages),
        )
    except OSError as error:
        if why := refusal(error):
            raise unreachable_table(facts.name, facts.location, why) from error
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # JSON, but not what Delta writes
        raise log.damaged(f"its list of files at version {facts.version} is malformed: {error!r}") from error
