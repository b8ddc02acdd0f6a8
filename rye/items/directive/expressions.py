"""The expression language of a hook's ``<when>`` (DESIGN §8; DECISIONS Directives 12 and 15).

::

    expression = and { "or" and }
    and        = not { "and" not }
    not        = "not" not | comparison
    comparison = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in") sum ]
    sum        = term { ("+" | "-") term }
    term       = factor { ("*" | "/") factor }
    factor     = "-" factor | number | string | "true" | "false" | "null" | name | "(" expression ")"
    name       = identifier { "." identifier }        identifier = [A-Za-z_][A-Za-z0-9_]*

Values are those of JSON. The rules of evaluation:

* A missing name is null. Only ``true`` is true: ``and``, ``or`` and ``not`` treat everything else as false.
* Types are null, boolean, number, string, array and object; ``1 == 1.0``, but ``true`` is not a number. Values of different
  types are unequal. Only two numbers or two strings are ordered; every other ordered comparison is false.
* Arithmetic needs two numbers; ``+`` also accepts two strings. Anything else, a division by zero or a non-finite result
  gives null.
* ``in`` looks for an equal element of an array, a key of an object or a substring of a string. For anything else it is false.

There are no calls, no attributes of values and no chained comparisons. Lookups only read keys of mappings.
:class:`rye.limits.ContentLimits` caps length and depth. Columns count characters from 1 in the expression.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from rye.limits import CONTENT
from rye.text.lazy import lazy_pattern


class ExpressionError(ValueError):
    """The text is not a valid expression. ``column`` counts from 1 in the expression."""

    def __init__(self, message: str, column: int):
        super().__init__(f"{message} (column {column})")
        self.message = message
        self.column = column


class Constant(Struct, frozen=True):
    """A literal: a boolean, number, string or null."""

    value: bool | int | float | str | None


class Name(Struct, frozen=True):
    """A dotted name, with its column in the expression (from 1)."""

    parts: tuple[str, ...]
    column: int

    @property
    def dotted(self) -> str:
        """The name as written, e.g. ``cost.current``."""
        return ".".join(self.parts)


class Not(Struct, frozen=True):
    """``not operand``."""

    operand: Node


class Negative(Struct, frozen=True):
    """``-operand``."""

    operand: Node


class Logical(Struct, frozen=True):
    """``and`` or ``or`` over two or more operands. Chains are flat, so that depth matches what a reader would call nesting."""

    operator: Literal["and", "or"]
    operands: tuple[Node, ...]


class OperatorComparison(Struct, frozen=True):
    """``left operator right``; gives a boolean."""

    operator: str
    left: Node
    right: Node


class Arithmetic(Struct, frozen=True):
    """``first``, then each operator with its operand, from left to right."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


Node = Constant | Name | Not | Negative | Logical | OperatorComparison | Arithmetic


class Expression(Struct, frozen=True):
    """A parsed expression: its text, its tree, and its names in order of appearance."""

    text: str
    root: Node
    variables: tuple[Name, ...]

    def names(self) -> frozenset[str]:
        """The dotted names that the expression reads, e.g. ``{"cost.current", "loop_count"}``."""
        return frozenset(name.dotted for name in self.variables)

    def unknown(self, known: frozenset[str] | set[str]) -> tuple[Name, ...]:
        """The names whose top-level variable is not in ``known``, in order (R10's warning)."""
        return tuple(name for name in self.variables if name.parts[0] not in known)


def parse(text: str) -> Expression:
    """Parse ``text``. Raises ExpressionError with the column of the first thing that is not part of the language."""
    if len(text) > CONTENT.expression_characters:
        limit = CONTENT.expression_characters
        raise ExpressionError(f"an expression can have at most {limit} characters; this one has {len(text)}", limit + 1)
    parser = _Parser(_tokens(text))
    root = parser.expression()
    parser.end()
    return Expression(text, root, tuple(parser.names))


def evaluate(expression: Expression, context: Mapping[str, object]) -> object:
    """Return the value of ``expression``, looking up names in ``context``, a mapping of JSON values. Never raises."""
    return _value(expression.root, context)


def holds(expression: Expression, context: Mapping[str, object]) -> bool:
    """Whether the condition is met: only ``true`` is true (DECISIONS Directives 15)."""
    return evaluate(expression, context) is True


def look_up(parts: tuple[str, ...], context: Mapping[str, object]) -> object:
    """Return the value at a dotted name, or None if a part of the path is missing or not an object."""
    value: object = context
    for part in parts:
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


# --- tokens ---------------------------------------------------------------------------------------------------------------

_KEYWORDS = frozenset({"and", "or", "not", "in", "true", "false", "null"})
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r"}
_ADVICE = {
    "=": "write '==' to compare",
    "&&": "write 'and'",
    "||": "write 'or'",
    "!": "write 'not'",
    "**": "powers are not supported",
    "//": "write '/' to divide",
    "[": "subscripts and array literals are not supported",
    ".": "only names have dotted parts, values have no attributes",
}

_TOKEN = lazy_pattern(
    r"""[ \t\r\n]*+
      (?:(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
      | (?P<number>(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<operator>==|!=|<=|>=|<|>|\*\*|//|&&|\|\||[-+*/()=!\[.])
      | (?P<quote>["'])
      | (?P<end>\Z))""",
    re.VERBOSE,
)


class _Token(Struct, frozen=True, gc=False):
    kind: Literal["name", "number", "operator", "keyword", "string", "end", "wrong"]
    text: str
    column: int
    value: int | float | str | None = None
    """The value of a number or string. For a ``wrong`` token, always the last, the error to raise."""


def _tokens(text: str) -> list[_Token]:
    """All tokens, up to the first invalid one, so that the parser reports the first error of any kind."""
    tokens: list[_Token] = []
    try:
        _scan(text, tokens)
    except ExpressionError as error:
        tokens.append(_Token("wrong", "", error.column, error.message))
    else:
        tokens.append(_Token("end", "", len(text) + 1))
    return tokens


def _scan(text: str, tokens: list[_Token]) -> None:
    position = 0
    while (match := _TOKEN.match(text, position)) is not None:
        kind = match.lastgroup
        if kind is None or kind == "end":
            return
        piece, column = match[kind], match.start(kind) + 1
        position = match.end()
        if kind == "name":
            tokens.append(_Token("keyword" if piece in _KEYWORDS else "name", piece, column))
        elif kind == "number":
            if position < len(text) and (text[position].isalnum() or text[position] == "_"):
                raise ExpressionError(f"{piece + text[position]!r} is not a number or a name", column)
            tokens.append(_Token("number", piece, column, _number(piece, column)))
        elif kind == "operator":
            tokens.append(_Token("operator", piece, column))
        else:
            value, position = _string(text, position, piece)
            tokens.append(_Token("string", text[column - 1 : position], column, value))
    position += len(text[position:]) - len(text[position:].lstrip(" \t\r\n"))
    raise ExpressionError(f"unexpected character {text[position]!r}", position + 1)


def _number(text: str, column: int) -> int | float:
    if text.isdigit():
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise ExpressionError(f"the number {text} is too large", column)
    return value


def _string(text: str, start: int, quote: str) -> tuple[str, int]:
    """Read the string whose first character is at ``start``. Return it and the offset after its closing quote."""
    parts: list[str] = []
    position = start
    while position < len(text):
        character = text[position]
        if character == quote:
            return "".join(parts), position + 1
        if character == "\\":
            escaped = text[position + 1 : position + 2]
            if escaped not in _ESCAPES:
                raise ExpressionError(f"unknown escape '\\{escaped}'; write '\\\\' for a backslash", position + 1)
            parts.append(_ESCAPES[escaped])
            position += 2
        else:
            parts.append(character)
            position += 1
    raise ExpressionError(f"the string has no closing {quote}", start)


# --- parser ---------------------------------------------------------------------------------------------------------------


class _Parser:
    """Recursive descent, one method per rule of the grammar; recursion is bounded by the depth limit."""

    def __init__(self, tokens: list[_Token]):
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.names: list[Name] = []

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def at(self, *texts: str) -> bool:
        return self.token.kind in ("operator", "keyword") and self.token.text in texts

    def expression(self) -> Node:
        return self.logical("or", lambda: self.logical("and", self.negation))

    def logical(self, operator: Literal["and", "or"], operand: Callable[[], Node]) -> Node:
        operands = [operand()]
        while self.at(operator):
            self.take()
            operands.append(operand())
        return operands[0] if len(operands) == 1 else Logical(operator, tuple(operands))

    def negation(self) -> Node:
        if not self.at("not"):
            return self.comparison()
        self.enter(self.take())
        node = Not(self.negation())
        self.depth -= 1
        return node

    def comparison(self) -> Node:
        left = self.sum()
        operator = self.comparison_operator()
        if operator is None:
            return left
        right = self.sum()
        column = self.token.column
        if self.comparison_operator() is not None:
            raise ExpressionError("comparisons cannot be chained; join them with 'and'", column)
        return OperatorComparison(operator, left, right)

    def comparison_operator(self) -> str | None:
        if self.token.kind == "operator" and self.token.text in _COMPARISONS:
            return self.take().text
        if self.at("in"):
            return self.take().text
        if self.at("not"):
            following = self.tokens[self.position + 1]
            if (following.kind, following.text) == ("keyword", "in"):
                self.position += 2
                return "not in"
        return None

    def sum(self) -> Node:
        return self.arithmetic(("+", "-"), self.term)

    def term(self) -> Node:
        return self.arithmetic(("*", "/"), self.factor)

    def arithmetic(self, operators: tuple[str, str], operand: Callable[[], Node]) -> Node:
        first = operand()
        rest: list[tuple[str, Node]] = []
        while self.at(*operators):
            operator = self.take().text
            rest.append((operator, operand()))
        return Arithmetic(first, tuple(rest)) if rest else first

    def factor(self) -> Node:
        token = self.token
        if token.kind in ("number", "string"):
            return Constant(self.take().value)
        if token.kind == "name":
            name = Name(tuple(self.take().text.split(".")), token.column)
            if self.at("("):
                raise ExpressionError(f"cannot call {name.dotted!r}: expressions have no calls", self.token.column)
            self.names.append(name)
            return name
        if token.kind == "keyword" and token.text in _LITERALS:
            return Constant(_LITERALS[self.take().text])
        if self.at("-"):
            self.enter(self.take())
            node: Node = Negative(self.factor())
            self.depth -= 1
            return node
        if self.at("("):
            self.enter(self.take())
            node = self.expression()
            if not self.at(")"):
                raise self.unexpected(f"a ')' for the '(' at column {token.column}")
            self.take()
            self.depth -= 1
            return node
        raise self.unexpected("a value")

    def enter(self, token: _Token) -> None:
        self.depth += 1
        if self.depth > CONTENT.expression_depth:
            raise ExpressionError(f"nested more than {CONTENT.expression_depth} deep", token.column)

    def end(self) -> None:
        if self.token.kind != "end":
            raise self.unexpected("an operator or the end")

    def unexpected(self, expected: str) -> ExpressionError:
        token = self.token
        if token.kind == "wrong":
            return ExpressionError(str(token.value), token.column)
        found = "the expression ends" if token.kind == "end" else f"found {token.text!r}"
        advice = f"; {_ADVICE[token.text]}" if token.kind == "operator" and token.text in _ADVICE else ""
        return ExpressionError(f"{found}, expected {expected}{advice}", token.column)


# --- evaluation -----------------------------------------------------------------------------------------------------------


def _value(node: Node, context: Mapping[str, object]) -> object:
    match node:
        case Constant(value):
            return value
        case Name(parts):
            return look_up(parts, context)
        case Not(operand):
            return _value(operand, context) is not True
        case Negative(operand):
            return _computed("-", 0, _value(operand, context))
        case Logical("and", operands):
            return all(_value(operand, context) is True for operand in operands)
        case Logical(_, operands):
            return any(_value(operand, context) is True for operand in operands)
        case OperatorComparison(operator, left, right):
            return _compared(operator, _value(left, context), _value(right, context))
        case Arithmetic(first, rest):
            result = _value(first, context)
            for operator, operand in rest:
                result = _computed(operator, result, _value(operand, context))
            return result


def _compared(operator: str, left: object, right: object) -> bool:
    match operator:
        case "==":
            return equal(left, right)
        case "!=":
            return not equal(left, right)
        case "in":
            return _contains(right, left)
        case "not in":
            return not _contains(right, left)
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(operator, (left > right) - (left < right))
    if _is_number(left) and _is_number(right):
        if left != left or right != right:  # NaN has no order
            return False
        return _ordered(operator, (left > right) - (left < right))  # type: ignore[operator]
    return False


def _ordered(operator: str, sign: int) -> bool:
    return {"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[operator]


def _computed(operator: str, left: object, right: object) -> object:
    if operator == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    if not _is_number(left) or not _is_number(right):
        return None
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    try:
        result = _calculated(operator, left, right)
    except (OverflowError, ZeroDivisionError):
        return None
    return result if isinstance(result, int) or math.isfinite(result) else None


def _calculated(operator: str, left: int | float, right: int | float) -> int | float:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right  # exact where a float would round
    return left / right


def _contains(container: object, value: object) -> bool:
    if isinstance(container, str):
        return isinstance(value, str) and value in container
    if isinstance(container, Mapping):
        return isinstance(value, str) and value in container
    if isinstance(container, list | tuple):
        return any(equal(element, value) for element in container)
    return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type_name(value: object) -> str:
    if value is None or isinstance(value, bool):
        return type(value).__name__
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else type(value).__name__


def equal(left: object, right: object) -> bool:
    """Whether two JSON values are equal: same type and value, numbers by value. Not recursive, so any depth is fine."""
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if (kind := _type_name(one)) != _type_name(other):
            return False
        if kind == "object":
            assert isinstance(one, Mapping)
            assert isinstance(other, Mapping)
            if one.keys() != other.keys():
                return False
            pending.extend((one[key], other[key]) for key in one)
        elif kind == "array":
            assert isinstance(one, list | tuple)
            assert isinstance(other, list | tuple)
            if len(one) != len(other):
                return False
            pending.extend(zip(one, other, strict=True))
        elif one != other:
            return False
    return True
