"""Rewrites of a query's text. One file each, with `rewrite(sql) -> str | None`. None: nothing to change."""
