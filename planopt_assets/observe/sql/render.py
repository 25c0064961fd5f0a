"""A query's tokens written out again under canonical names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from planopt_assets.observe.sql.names import Column, Definition, Frame, Names, Source, Star
from planopt_assets.observe.sql.tokens import AS, SPARK, NotCanonical

_GLUED = frozenset({TokenType.GT, TokenType.LT, TokenType.STRING})  # `>>` and `'it''s'` mean something else apart
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_NO_SPACE_BEFORE = _CLOSING | {TokenType.COMMA, TokenType.L_BRACKET}
_NO_SPACE_AFTER = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.DOT})
_LITERALS = frozenset(
    {
        *(TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING),
        *(TokenType.BYTE_STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING, TokenType.HEREDOC_STRING),
    }
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """The canonical text as it is run, as it is compared, and the columns behind the stars that stayed in it."""

    text: str
    folded: str
    kept_stars: list[list[str]]


def render(
    text: str, tokens: Sequence[Token], tree: exp.Expr, names: Names, naming: Mapping[Definition, str] | None = None
) -> Rendered:
    """Write the tokens of `text` with every name as `names` has it; `naming` calls the aliases something else."""
    writer = _Writer(text, tokens, tree, names)
    writer.canonical = writer.canonical if naming is None else naming
    writer.write()
    return Rendered("".join(writer.text), "".join(writer.folded), names.kept_stars)


class _Writer:
    def __init__(self, text: str, tokens: Sequence[Token], tree: exp.Expr, names: Names) -> None:
        self.source = text
        self.tokens = tokens
        self.names = names
        self.identifiers = {n.meta.get("start") for n in tree.find_all(exp.Identifier)}
        self.hints = _frames_of_hints(tokens, names)
        self._fix_what_hints_name()
        self.canonical: Mapping[Definition, str] = names.canonical()
        self.text: list[str] = []
        self.folded: list[str] = []
        self._last: TokenType | None = None

    def write(self) -> None:
        at = 0
        while at < len(self.tokens):
            at = self._token(at)

    def _token(self, at: int) -> int:
        """Write one token with what belongs around it; returns the next one to be written."""
        token = self.tokens[at]
        start = token.start
        if start in self.names.dropped:
            return at + 2  # with its dot
        if star := self.names.stars.get(start):
            self._star(star)
            return self._behind_parenthesis(at + 2) if star.has_except else at + 1
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
            self._put("AS", AS)
            self._name(self.canonical.get(alias, alias.name))
        if definition in self.canonical and (output := self.names.output_ends.get(start)):
            self._put("AS", AS)
            self._name(output, output.lower())
        return at + 1

    def _known(self, token: Token, name: str) -> None:
        if token.start in self.names.verbatim:
            self._name(token.text)
        elif token.start in self.names.outputs:
            self._name(token.text, name)
        else:
            self._name(name)

    def _word(self, at: int) -> None:
        """Anything that is no name: words of the language in capitals, literals and parameters untouched."""
        token = self.tokens[at]
        kind = token.token_type
        before = self.tokens[at - 1] if at else None
        twin = before is not None and before.token_type is kind and before.end + 1 == token.start
        if kind in _LITERALS or self._is_parameter(at):
            word = self._raw(token)
        else:
            word = " ".join(self._raw(token).upper().split())
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
        for number, (source, column) in enumerate(star.columns):
            if number:
                self._put(",", TokenType.COMMA)
            self._qualifier(source)
            self._star_column(column, is_output=star.role == "output")

    def _star_column(self, column: Column, *, is_output: bool) -> None:
        definition = column.definition
        if definition is not None and definition in self.canonical:
            self._name(self.canonical[definition])
            if is_output:
                self._put("AS", AS)
                self._name(column.name)
        else:
            self._name(column.spelling if is_output and column.spelling else column.name, column.name)

    def _qualifier(self, source: Source) -> None:
        name = self.canonical.get(source.definition, source.name) if source.definition else source.name
        if name is not None:
            self._name(name)
            self._put(".", TokenType.DOT)

    def _hint(self, token: Token, frame: Frame) -> str:
        """`/*+ BROADCAST(c) */` with the canonical names of the tables it means."""
        aliases = {s.name: s.definition for s in frame.sources if s.definition is not None}
        words = []
        for word in _hint_tokens(self._raw(token)):
            definition = aliases.get(word.text.lower())
            if _is_name(word) and definition is not None:
                words.append(_quoted(self.canonical.get(definition, definition.name)))
            else:
                words.append(word.text.upper() if word.token_type is not TokenType.STRING else f"'{word.text}'")
        return f"/*+ {' '.join(words).replace(' ( ', '(').replace(' )', ')').replace(' ,', ',')} */"

    def _fix_what_hints_name(self) -> None:
        for start, frame in self.hints.items():
            token = next(t for t in self.tokens if t.start == start)
            aliases = {s.name for s in frame.sources if s.definition is not None}
            words = {word.text.lower() for word in _hint_tokens(self._raw(token)) if _is_name(word)}
            self.names.fixed |= words - aliases

    def _behind_parenthesis(self, at: int) -> int:
        """The token after the parenthesis that opens at `at`."""
        depth = 0
        while True:
            kind = self.tokens[at].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            at += 1
            if depth == 0:
                return at

    def _raw(self, token: Token) -> str:
        return self.source[token.start : token.end + 1]

    def _name(self, name: str, folded: str | None = None) -> None:
        self._put(_quoted(name), TokenType.IDENTIFIER, None if folded is None else _quoted(folded))

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
    """Each hint with the SELECT it belongs to: the last hint before the SELECT list."""
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
