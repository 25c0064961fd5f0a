"""Checks that a text is the declared query: a policy is applied only to the query it was validated for. Pure."""

from __future__ import annotations

from planopt_assets.observe.sql.binder import Schemas
from planopt_assets.observe.sql.canonical import canonical_form


def same_text(one: str, other: str) -> bool:
    """Equal texts, apart from spaces around them and a last semicolon.

    >>> same_text("SELECT 1 ;", " SELECT 1")
    True
    """
    return _bare(one) == _bare(other)


def why_different(text: str, declared: str, schemas: Schemas) -> str:
    """Why the policy of the declared query does not fit this text; empty if both are the same query.

    >>> sales = {"sales": [("shop", "bigint"), ("amount", "double")]}
    >>> why_different("select s.shop from sales s", "SELECT shop FROM sales", sales)
    ''
    >>> why_different("SELECT amount FROM sales", "SELECT shop FROM sales", sales)
    'the text is another query than the declared one'
    """
    if same_text(text, declared):
        return ""
    ours, theirs = canonical_form(_bare(text), schemas), canonical_form(_bare(declared), schemas)
    for form in (ours, theirs):
        if form.form != "sqlglot":
            return f"the text differs from the declared one and cannot be compared with it: {form.reason}"
    return "" if ours.fingerprint == theirs.fingerprint else "the text is another query than the declared one"


def _bare(text: str) -> str:
    return text.strip().removesuffix(";").rstrip()
