"""A call that was given up goes on in its thread (`answer_within`). It must end before a test's environment does:

after that the environment names no server on loopback, and no request may go anywhere else.
"""

from __future__ import annotations

import threading


def left_behind_ends() -> None:
    """Waits for such threads. The server answers them once its fault is switched off."""
    for thread in [one for one in threading.enumerate() if one.name == "planopt"]:
        thread.join(60)
        assert not thread.is_alive()
