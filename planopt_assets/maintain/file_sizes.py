"""How large the files of a table should be, how large they are, and how many there are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planopt_assets.model.data_file import DataFile
from planopt_assets.model.table_readiness import SizeClass

MIB = 1024 * 1024
SMALLEST_TARGET, USUAL_TARGET, LARGEST_TARGET = 2 * MIB, 8 * MIB, 128 * MIB
FILES_PER_CORE = 4  # from the usual target on; below it one
CLASSES = (MIB, 8 * MIB, 32 * MIB, 128 * MIB, 1024 * MIB, None)


def target_file_bytes(table_bytes: int, cores: int) -> int:
    """The size at which each core has work: a power of two MiB, from 2 to 128.

    A file of a few MiB is one row group, which one task reads. So small tables get a file for each core: fewer would
    leave cores idle, and every file more costs CPU. From 8 MiB on a core gets four, so that none waits long for the
    last.

    Worked, on 2 cores: 7 MB in 2 files of 4 MiB, 27 MB in 4 of 8 MiB, 200 MB in 7 of 32 MiB; 1 TB in files of 128 MiB.

    >>> [target_file_bytes(size, 2) // MIB for size in (1_000_000, 7_000_000, 27_000_000, 200_000_000, 10**12)]
    [2, 4, 8, 32, 128]
    """
    target = SMALLEST_TARGET
    while target < USUAL_TARGET and target * cores < table_bytes:
        target *= 2
    while target < LARGEST_TARGET and target * FILES_PER_CORE * cores < table_bytes:
        target *= 2
    return target


def small_below(target: int) -> int:
    """A file at least half as large as the target is left alone: rewriting it would gain little."""
    return target // 2


def size_classes(files: Iterable[DataFile]) -> tuple[SizeClass, ...]:
    """Files by size.

    >>> size_classes([DataFile("a", 10), DataFile("b", 2 * MIB)])[:2]
    (SizeClass(up_to_bytes=1048576, files=1, bytes=10), SizeClass(up_to_bytes=8388608, files=1, bytes=2097152))
    """
    counted = [[0, 0] for _ in CLASSES]
    for file in files:
        place = next(n for n, bound in enumerate(CLASSES) if bound is None or file.bytes <= bound)
        counted[place][0] += 1
        counted[place][1] += file.bytes
    return tuple(SizeClass(bound, *found) for bound, found in zip(CLASSES, counted, strict=True))


def compaction_bins(files: Sequence[DataFile], target: int) -> list[list[DataFile]]:
    """The files as they would be merged, smallest first within each partition, as Delta packs them.

    A bin with one file is that file, untouched. Files of at least half the target are left alone.

    >>> files = [DataFile(str(n), 3 * MIB) for n in range(5)] + [DataFile("large", 7 * MIB)]
    >>> [len(b) for b in compaction_bins(files, 8 * MIB)]
    [2, 2, 1, 1]
    """
    bins = [[f] for f in files if f.bytes >= small_below(target)]
    small: dict[object, list[DataFile]] = {}
    for file in files:
        if file.bytes < small_below(target):
            small.setdefault(file.partition, []).append(file)
    merged: list[list[DataFile]] = []
    for within in small.values():
        room = 0
        for file in sorted(within, key=lambda f: (f.bytes, f.path)):
            if file.bytes > room:
                merged.append([])
                room = target
            merged[-1].append(file)
            room -= file.bytes
    return merged + bins
