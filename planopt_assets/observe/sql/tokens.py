"""A query's text as tokens: comments and layout gone, everything else exactly as it was written."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

SPARK = Dialect.get_or_raise("spark")
AS = TokenType.ALIAS

_QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN})


class NotCanonical(Exception):
    """Why a query has no canonical text, in words."""


def spark_tokens(sql: str) -> tuple[str, list[Token]]:
    """The text without comments, and its tokens, whose positions are positions in that text.

    >>> text, tokens = spark_tokens("SELECT a -- first\\n  FROM t;")
    >>> text, [token.text for token in tokens]
    ('SELECT a FROM t', ['SELECT', 'a', 'FROM', 't'])
    """
    flat = ""
    end = 0
    for token in own_tokens(sql):
        gap = sql[end : token.start]
        _check_gap(gap)
        if token.token_type is TokenType.SEMICOLON:
            if own_tokens(sql[token.end + 1 :]):
                raise NotCanonical("it is more than one statement")
            break
        # Neighbours stay neighbours: `'it''s'` is not `'it' 's'`, and `>>` is not `> >`.
        flat += (" " if gap and flat else "") + sql[token.start : token.end + 1]
        end = token.end + 1
    else:
        _check_gap(sql[end:])
    tokens = own_tokens(flat)
    if not tokens or tokens[0].token_type not in _QUERY_STARTS:
        raise NotCanonical("it does not begin like a query")
    return flat, tokens


def own_tokens(text: str) -> list[Token]:
    """Without the tokens sqlglot makes up: `1L` comes as `1`, `::` and `BIGINT`, all at one place."""
    try:
        tokens = SPARK.tokenize(text)
    except TokenError as error:
        raise NotCanonical("a quote or a comment has no end") from error
    return [token for at, token in enumerate(tokens) if at == 0 or token.start > tokens[at - 1].start]


def _check_gap(gap: str) -> None:
    """What stands between two tokens must be a comment for Spark as well."""
    rest = gap.strip()
    if rest and not rest.startswith(("--", "/*")):
        raise NotCanonical(f"`{rest[:20]}` is not read")
    if "/*+" in rest:
        raise NotCanonical("a hint stands where Spark does not look for one")
    if "\\\n" in gap:
        raise NotCanonical("a comment that ends in a backslash goes on in the next line for Spark")


def closing(tokens: Sequence[Token], at: int) -> int:
    """The place of the parenthesis that closes the one at `at`."""
    depth = 0
    while True:
        kind = tokens[at].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return at
        at += 1
