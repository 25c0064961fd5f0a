"""Whether a text is the query that was declared: a policy proven for one query is not applied to another. Pure."""

from __future__ import annotations

from planopt_assets.observe.sql.binder import Schemas
from planopt_assets.observe.sql.canonical import canonical_form


def same_text(one: str, other: str) -> bool:
    """Letter for letter, but for the blanks around it and a closing semicolon.

    >>> same_text("SELECT 1 ;", " SELECT 1")
    True
    """
    return _bare(one) == _bare(other)


def why_different(text: str, declared: str, schemas: Schemas) -> str:
    """Empty where both texts are one query in two spellings; else why the policy of the declared one is not for it.

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
