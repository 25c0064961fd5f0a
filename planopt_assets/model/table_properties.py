"""Table properties that planopt may set for good, and when Delta acts on them."""

from __future__ import annotations

OPTIMIZE_WRITE = "delta.autoOptimize.optimizeWrite"
AUTO_COMPACT = "delta.autoOptimize.autoCompact"
DELETION_VECTORS = "delta.enableDeletionVectors"
STATISTICS = "delta.dataSkippingStatsColumns"
SET_BY_PLANOPT = frozenset({OPTIMIZE_WRITE, AUTO_COMPACT, DELETION_VECTORS, STATISTICS})
"""Properties that come with a layout of planopt's own: the new version is validated again, and no policy is lost."""
ADDS_FEATURE = {DELETION_VECTORS: "deletionVectors"}
"""Table features, of readers and writers, that a property adds when it is switched on."""

AUTO_COMPACT_FILES = 50
"""Small files of a partition from which on auto compaction acts on every write.

A process counts only files that it wrote itself. On its first write to a partition it acts whatever their number.
"""
AUTO_COMPACT_SMALL = 64 * 1024**2
"""Bytes: from this size on a file is not small for auto compaction."""
