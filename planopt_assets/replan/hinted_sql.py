"""Writes join hints into a query's own text, each into the SELECT whose FROM names the input it is for.

Spark ignores a hint in any other SELECT without a word. Nothing else of the text changes: the hint is put between two
of its tokens, comments and layout stay.
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
    """A text with hints, and the reason for every hint that it cannot carry."""

    sql: str
    left_out: tuple[tuple[Hint, str], ...] = ()


def hinted_sql(sql: str, hints: Sequence[Hint]) -> HintedSql:
    """The text with these hints.

    >>> hinted_sql("SELECT 1 FROM a JOIN b USING (k)", [Hint("broadcast", "join0.right b")]).sql
    'SELECT /*+ BROADCAST(b) */ 1 FROM a JOIN b USING (k)'
    >>> hinted_sql("SELECT 1 FROM a, b, c", [Hint("broadcast", "join0.left")]).left_out[0][1]
    'join0.left has no name in the text'

    A hint of the author stays, and comes first: where both name one input, Spark takes the author's.
    """
    try:
        flat, tokens = spark_tokens(sql)
        own = own_tokens(sql)[: len(tokens)]
        parsed = SPARK.parse(flat)[0] if [t.text for t in own] == [t.text for t in tokens] else None
        if parsed is None:
            raise NotCanonical("its tokens cannot be told apart")
        joins = text_joins(parsed)
    except NotCanonical as error:
        return HintedSql(sql, tuple((hint, str(error)) for hint in hints))
    except Exception as error:  # noqa: BLE001  # whatever stops the parser, the plan can still carry the hint
        return HintedSql(sql, tuple((hint, f"sqlglot fails on it: {type(error).__name__}") for hint in hints))
    places: dict[int, list[str]] = {}  # number of a SELECT token -> hints
    left_out = []
    for hint in hints:
        try:
            found = _named(hint, joins)
            places.setdefault(_select_token(tokens, found.start), []).append(_words(hint))
        except NotCanonical as error:
            left_out.append((hint, str(error)))
    for at in sorted(places, reverse=True):  # from the end, so that positions before it hold
        sql = _inserted(sql, own, at, list(dict.fromkeys(places[at])))
    return HintedSql(sql, tuple(left_out))


def _named(hint: Hint, joins: TextJoins) -> Input:
    """The one input a hint means: by its join's number, or by a name nothing else has."""
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
    """The SELECT before a name in FROM, whatever stands in parentheses between them."""
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
    """Behind the SELECT, or at the end of the hints that stand there already."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is not None and after.token_type is TokenType.HINT:
        end = after.end + 1 - len("*/")
        return f"{sql[:end].rstrip()}, {', '.join(words)} {sql[end:]}"
    end = tokens[at].end + 1
    return f"{sql[:end]} /*+ {', '.join(words)} */{sql[end:]}"
