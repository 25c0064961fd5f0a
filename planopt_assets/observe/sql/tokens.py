"""The text of a query as tokens, without comments and layout."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

SPARK = Dialect.get_or_raise("spark")
AS = TokenType.ALIAS


def kinds(names: str) -> frozenset[TokenType]:
    """Types of tokens by their names in sqlglot, for example `kinds("SELECT FROM")`."""
    return frozenset(TokenType[name] for name in names.split())


QUERY_STARTS = kinds("SELECT WITH FROM VALUES")


class NotCanonical(Exception):
    """The reason why a query has no canonical text."""


def spark_tokens(sql: str) -> tuple[str, list[Token]]:
    """The text without comments, and its tokens; the positions of the tokens are positions in that text.

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
        # Tokens without a gap get none: `'it''s'` is not `'it' 's'`, and `>>` is not `> >`.
        flat += (" " if gap and flat else "") + sql[token.start : token.end + 1]
        end = token.end + 1
    else:
        _check_gap(sql[end:])
    tokens = own_tokens(flat)
    if not tokens or tokens[0].token_type not in QUERY_STARTS | {TokenType.L_PAREN}:
        raise NotCanonical("it does not begin like a query")
    return flat, tokens


def own_tokens(text: str) -> list[Token]:
    """The tokens of a text, without those that sqlglot adds: `1L` gives `1`, `::` and `BIGINT`, all at one position."""
    try:
        tokens = SPARK.tokenize(text)
    except TokenError as error:
        raise NotCanonical("a quote or a comment has no end") from error
    return [token for at, token in enumerate(tokens) if at == 0 or token.start > tokens[at - 1].start]


def _check_gap(gap: str) -> None:
    """Refuse text between two tokens that Spark would not read as a comment."""
    rest = gap.strip()
    if rest and not rest.startswith(("--", "/*")):
        raise NotCanonical(f"`{rest[:20]}` is not read")
    if "/*+" in rest:
        raise NotCanonical("a hint stands where Spark does not look for one")
    if "\\\n" in gap:
        raise NotCanonical("a comment that ends in a backslash goes on in the next line for Spark")


def closing(tokens: Sequence[Token], at: int) -> int:
    """The index of the token that closes the parenthesis at index `at`."""
    depth = 0
    while True:
        kind = tokens[at].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return at
        at += 1
