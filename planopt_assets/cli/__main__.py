"""`python -m planopt_assets.cli` is `planopt`."""

from __future__ import annotations

from planopt_assets.cli import main

if __name__ == "__main__":
    main()
