"""Rewrites of a query's own text: one file each, `rewrite(sql) -> str | None`; None: nothing to change."""
