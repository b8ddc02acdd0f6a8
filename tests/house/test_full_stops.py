"""Every error's message is a sentence with its full stop, also one that quotes another program's words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.trees import nodes, statements, trees

_ERRORS = ("RyeError", "UsageError", "CallError", "ManifestError", "LockError")
_ENDS = (".", "?", "!", "…")


def messages(tree: ast.Module) -> Iterator[ast.expr]:
    """The messages of errors: the second argument after a code, or the first of an error that has one code."""
    for call in nodes(tree):
        name = getattr(call.func, "id", getattr(call.func, "attr", "")) if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and name in _ERRORS[:3] and len(call.args) >= 2:
            yield call.args[1]
        elif isinstance(call, ast.Call) and name in _ERRORS[3:] and call.args:
            yield call.args[0]


def quotes_bare_error(message: ast.expr, caught: frozenset[str]) -> bool:
    """Whether a message ends with the words of a caught exception, which have no full stop in Python's own."""
    if not isinstance(message, ast.JoinedStr) or not isinstance(last := message.values[-1], ast.FormattedValue):
        return False
    return any(isinstance(node, ast.Name) and node.id in caught for node in ast.walk(last.value))


def end_of(message: ast.expr) -> str | None:
    """The text at a message's end; None if that is only known when it runs."""
    last = message.values[-1] if isinstance(message, ast.JoinedStr) else message
    return last.value if isinstance(last, ast.Constant) and isinstance(last.value, str) else None


def lacking(tree: ast.Module) -> list[int]:
    """The lines of messages that do not end a sentence."""
    wrong = [one.lineno for one in messages(tree) if (end := end_of(one)) is not None and not end.endswith(_ENDS)]
    for handler in statements(tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name and handler.type is not None and is_foreign(handler):
            caught = frozenset({handler.name})
            body = ast.Module(handler.body, [])
            wrong += [one.lineno for one in messages(body) if quotes_bare_error(one, caught)]
    return wrong


def is_foreign(handler: ast.ExceptHandler) -> bool:
    """Whether an exception of Python or a library is caught; this project's own messages end with a full stop."""
    caught = ast.unparse(handler.type) if handler.type is not None else ""
    return any(name in caught for name in ("OSError", "DecodeError", "ValidationError", "sqlite3", "RuntimeError"))


@pytest.mark.slow
def test_messages_end_with_a_full_stop() -> None:
    assert {path: lines for path, tree in trees(*_ERRORS).items() if (lines := lacking(tree))} == {}


def test_a_message_without_one_is_noticed() -> None:
    assert lacking(ast.parse('raise RyeError("a", "No stop")')) == [1]
    assert lacking(ast.parse('raise RyeError("a", f"{x} no stop")')) == [1]
    assert lacking(
        ast.parse('try:\n  x()\nexcept OSError as error:\n  raise RyeError("a", f"It failed: {error}")')
    ) == [4]
    assert (
        lacking(ast.parse('try:\n  x()\nexcept OSError as error:\n  raise RyeError("a", f"It failed: {error}.")')) == []
    )
