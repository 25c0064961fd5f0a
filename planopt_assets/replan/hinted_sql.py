"""Writes join hints into a query's text, each into the SELECT whose FROM names its input.

In any other SELECT, Spark ignores the hint silently. Nothing else changes: the hint is inserted between two tokens, and
comments and layout stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType

from planopt_assets.model.hint import Hint
from planopt_assets.observe.sql.tokens import SPARK, NotCanonical, own_tokens, spark_tokens
from planopt_assets.replan.text_joins import Input, TextJoins, text_joins


@dataclass(frozen=True, slots=True)
class HintedSql:
    """A text with hints, and for each hint that it cannot hold, the reason."""

    sql: str
    left_out: tuple[tuple[Hint, str], ...] = ()


def hinted_sql(sql: str, hints: Sequence[Hint]) -> HintedSql:
    """The text with these hints.

    >>> hinted_sql("SELECT 1 FROM a JOIN b USING (k)", [Hint("broadcast", "join0.right b")]).sql
    'SELECT /*+ BROADCAST(b) */ 1 FROM a JOIN b USING (k)'
    >>> hinted_sql("SELECT 1 FROM a, b, c", [Hint("broadcast", "join0.left")]).left_out[0][1]
    'join0.left has no name in the text'

    The author's hints stay and come first: if both name one input, Spark takes the author's.
    """
    try:
        flat, tokens = spark_tokens(sql)
        own = own_tokens(sql)[: len(tokens)]
        parsed = SPARK.parse(flat)[0] if [t.text for t in own] == [t.text for t in tokens] else None
        if parsed is None:
            raise NotCanonical("its tokens are ambiguous")
        joins = text_joins(parsed)
    except NotCanonical as error:
        return HintedSql(sql, tuple((hint, str(error)) for hint in hints))
    except Exception as error:  # noqa: BLE001  # if the parser fails, the hint can still go into the plan
        return HintedSql(sql, tuple((hint, f"sqlglot fails on it: {type(error).__name__}") for hint in hints))
    places: dict[int, list[str]] = {}  # number of a SELECT token -> hints
    left_out = []
    for hint in hints:
        try:
            found = _named(hint, joins)
            places.setdefault(_select_token(tokens, found.start), []).append(_words(hint))
        except NotCanonical as error:
            left_out.append((hint, str(error)))
    for at in sorted(places, reverse=True):  # from the end, so earlier positions stay valid
        sql = _inserted(sql, own, at, list(dict.fromkeys(places[at])))
    return HintedSql(sql, tuple(left_out))


def _named(hint: Hint, joins: TextJoins) -> Input:
    """The input a hint means: by a unique name, else by the number of its join."""
    where, name = hint.target.partition(" ")[0], hint.alias.lower()
    if not name:
        raise NotCanonical(f"{where} has no name in the text")
    found = {side for join in joins.joins for side in (join.left, join.right) if side and side.name == name}
    if not found:
        raise NotCanonical(f"no join of the text reads `{name}`")
    if len(found) > 1:
        if joins.doubt:
            raise NotCanonical(f"`{name}` is in several joins, and their order is not certain: {joins.doubt}")
        numbered = joins.joins[hint.join].side(hint.side) if hint.join < len(joins.joins) else None
        if numbered is None or numbered.name != name:
            raise NotCanonical(f"`{name}` is in several joins, and {where} is none of them")
        found = {numbered}
    (one,) = found
    if joins.names[one.select].count(name) > 1:
        raise NotCanonical(f"two inputs of one SELECT are called `{name}`")
    return one


def _select_token(tokens: Sequence[Token], start: int) -> int:
    """The SELECT before a name in FROM. Parentheses between them are skipped."""
    at = next(i for i, token in enumerate(tokens) if token.start == start)
    closed, in_from = 0, False
    while at > 0:
        at -= 1
        kind = tokens[at].token_type
        if kind is TokenType.R_PAREN:
            closed += 1
        elif kind is TokenType.L_PAREN and closed:
            closed -= 1
        elif closed:
            continue
        elif kind is TokenType.SELECT and in_from:
            return at
        elif kind is TokenType.FROM:
            in_from = True
        elif kind is TokenType.PIPE_GT or kind is TokenType.SELECT or (kind is TokenType.L_PAREN and in_from):
            break
    raise NotCanonical("it is not certain which SELECT the hint belongs to")


def _words(hint: Hint) -> str:
    plain = hint.alias.isascii() and hint.alias.isidentifier()
    return f"{hint.strategy.upper()}({hint.alias if plain else '`' + hint.alias.replace('`', '``') + '`'})"


def _inserted(sql: str, tokens: Sequence[Token], at: int, words: Sequence[str]) -> str:
    """Insert after the SELECT, or at the end of hints that are already there."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is not None and after.token_type is TokenType.HINT:
        end = after.end + 1 - len("*/")
        return f"{sql[:end].rstrip()}, {', '.join(words)} {sql[end:]}"
    end = tokens[at].end + 1
    return f"{sql[:end]} /*+ {', '.join(words)} */{sql[end:]}"
