"""Writes the tokens of a query again, with every name in its canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from planopt_assets.observe.sql.names import Definition, Frame, Names, Source, Star
from planopt_assets.observe.sql.tokens import AS, SPARK, NotCanonical, closing, kinds

_GLUED = kinds("GT LT STRING")  # `>>` and `'it''s'` have another meaning with a space inside
_CLOSING = kinds("R_PAREN R_BRACKET")
_NO_SPACE_BEFORE = _CLOSING | kinds("COMMA L_BRACKET")
_NO_SPACE_AFTER = kinds("L_PAREN L_BRACKET DOT")
_LITERALS = kinds(
    "STRING NUMBER RAW_STRING HEX_STRING BIT_STRING BYTE_STRING NATIONAL_STRING UNICODE_STRING HEREDOC_STRING"
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A text without comments, and the meaning of each of its names."""

    text: str
    tokens: Sequence[Token]
    tree: exp.Expr
    names: Names


@dataclass(frozen=True, slots=True)
class Rendered:
    """The canonical text to run, the same text to compare (`folded`), and the columns behind the stars in it."""

    text: str
    folded: str
    kept_stars: list[list[str]]


def render(query: ParsedQuery, naming: Mapping[Definition, str] | None = None) -> Rendered:
    """Write a query again; `naming` has other names for the aliases than the canonical ones."""
    writer = _Writer(query, naming)
    at = 0
    while at < len(query.tokens):
        at = writer.token(at)
    return Rendered("".join(writer.text), "".join(writer.folded), query.names.kept_stars)


class _Writer:
    def __init__(self, query: ParsedQuery, naming: Mapping[Definition, str] | None) -> None:
        self.source = query.text
        self.tokens = query.tokens
        self.names = query.names
        self.identifiers = {n.meta.get("start") for n in query.tree.find_all(exp.Identifier)}
        self.hints = _frames_of_hints(query.tokens, query.names)
        self._fix_names_in_hints()
        self.canonical = query.names.canonical() if naming is None else naming
        self.text: list[str] = []
        self.folded: list[str] = []
        self._last: TokenType | None = None

    def token(self, at: int) -> int:
        """Write a token, and what belongs before and after it. Returns the index of the next token to write."""
        token = self.tokens[at]
        start = token.start
        if start in self.names.dropped:
            return at + 2  # with its dot
        if star := self.names.stars.get(start):
            self._star(star)
            return closing(self.tokens, at + 2) + 1 if star.has_except else at + 1
        if start in self.names.as_words and self.tokens[at - 1].token_type is not AS:
            self._put("AS", AS)
        if source := self.names.qualifiers.get(start):
            self._qualifier(source)
        definition = self.names.references.get(start)
        if start in self.hints:
            self._put(self._hint(token, self.hints[start]), token.token_type)
        elif definition is not None and definition in self.canonical:
            self._name(self.canonical[definition])
        elif definition is not None or start in self.names.known:
            self._known(token, definition.name if definition is not None else self.names.known[start])
        elif start in self.identifiers or token.token_type is TokenType.IDENTIFIER:
            self._put(self._raw(token), TokenType.IDENTIFIER)
        else:
            self._word(at)
        if alias := self.names.table_ends.get(start):
            self._as(self.canonical.get(alias, alias.name))
        if definition in self.canonical and (output := self.names.output_ends.get(start)):
            self._as(output, output.lower())
        return at + 1

    def _known(self, token: Token, name: str) -> None:
        if token.start in self.names.verbatim:
            self._name(token.text)
        elif token.start in self.names.outputs:
            self._name(token.text, name)
        else:
            self._name(name)

    def _word(self, at: int) -> None:
        """Write a token that is no name: keywords in capitals, literals and parameters as they are."""
        token = self.tokens[at]
        kind = token.token_type
        before = self.tokens[at - 1] if at else None
        twin = before is not None and before.token_type is kind and before.end + 1 == token.start
        word = self._raw(token)
        if kind not in _LITERALS and not self._is_parameter(at):
            word = " ".join(word.upper().split())
        self._put(word, kind, glued=self._is_parameter(at) or (twin and kind in _GLUED))

    def _is_parameter(self, at: int) -> bool:
        """`:name`, but not the type in `STRUCT<name: INT>`."""
        if at == 0 or self.tokens[at - 1].token_type is not TokenType.COLON:
            return False
        operand = self.tokens[at - 2] if at > 1 else None
        return operand is None or not (
            operand.start in self.identifiers or operand.token_type in _CLOSING or operand.token_type in _LITERALS
        )

    def _star(self, star: Star) -> None:
        is_output = star.role == "output"
        for number, (source, column) in enumerate(star.columns):
            if number:
                self._put(",", TokenType.COMMA)
            self._qualifier(source)
            alias = self.canonical.get(column.definition) if column.definition else None
            if alias is None:
                self._name(column.spelling if is_output and column.spelling else column.name, column.name)
            else:
                self._name(alias)
                if is_output:
                    self._as(column.name)

    def _qualifier(self, source: Source) -> None:
        name = self.canonical.get(source.definition, source.name) if source.definition else source.name
        if name is not None:
            self._name(name)
            self._put(".", TokenType.DOT)

    def _hint(self, token: Token, frame: Frame) -> str:
        """`/*+ BROADCAST(c) */` with the canonical names of its tables."""
        aliases = {s.name: s.definition for s in frame.sources if s.definition is not None}
        words = []
        for word in _hint_tokens(self._raw(token)):
            definition = aliases.get(word.text.lower())
            if _is_name(word) and definition is not None:
                words.append(_quoted(self.canonical.get(definition, definition.name)))
            else:
                words.append(word.text.upper() if word.token_type is not TokenType.STRING else f"'{word.text}'")
        return f"/*+ {' '.join(words).replace(' ( ', '(').replace(' )', ')').replace(' ,', ',')} */"

    def _fix_names_in_hints(self) -> None:
        """A word in a hint that names no table of its SELECT may be any name of the query, so that name is fixed."""
        for token in (t for t in self.tokens if t.start in self.hints):
            aliases = {s.name for s in self.hints[token.start].sources if s.definition is not None}
            words = {word.text.lower() for word in _hint_tokens(self._raw(token)) if _is_name(word)}
            self.names.fixed |= words - aliases

    def _raw(self, token: Token) -> str:
        return self.source[token.start : token.end + 1]

    def _name(self, name: str, folded: str | None = None) -> None:
        self._put(_quoted(name), TokenType.IDENTIFIER, None if folded is None else _quoted(folded))

    def _as(self, name: str, folded: str | None = None) -> None:
        self._put("AS", AS)
        self._name(name, folded)

    def _put(self, text: str, kind: TokenType, folded: str | None = None, *, glued: bool = False) -> None:
        space = "" if glued or self._no_space(kind) else " "
        self.text.append(space + text)
        self.folded.append(space + (text if folded is None else folded))
        self._last = kind

    def _no_space(self, kind: TokenType) -> bool:
        last = self._last
        if last is None or last in _NO_SPACE_AFTER or kind in _NO_SPACE_BEFORE:
            return True
        if kind is TokenType.DOT:
            return last is TokenType.IDENTIFIER or last in _CLOSING
        return kind is TokenType.L_PAREN and last is TokenType.VAR


def _frames_of_hints(tokens: Sequence[Token], names: Names) -> dict[int, Frame]:
    """The frame of each hint: a SELECT's hint is the last one before its list."""
    starts = [t.start for t in tokens if t.token_type is TokenType.HINT]
    frames = {max((s for s in starts if s < position), default=-1): frame for position, frame in names.hints}
    if sorted(frames) != starts:
        raise NotCanonical("it is not certain which SELECT a hint belongs to")
    return frames


def _hint_tokens(hint: str) -> list[Token]:
    return SPARK.tokenize(hint.removeprefix("/*+").removesuffix("*/"))


def _is_name(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or token.text.isidentifier()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
