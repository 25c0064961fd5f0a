"""Another process that claims the control of an hour. It loads nothing else: no test module, no pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.store.control_claims import claim_control

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier


def claim(root: str, at: float, ready: Barrier, found: Queue[bool]) -> None:
    """Claim at the same moment as all who wait for the barrier."""
    ready.wait()
    found.put(claim_control(root, "tests", "q", at))
