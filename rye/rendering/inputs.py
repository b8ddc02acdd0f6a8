"""The values of a directive's inputs: given ones checked against the declarations, declared defaults for the others.

Text (``--input k=v``) is converted by the declared type; JSON (``--inputs FILE``) must have it exactly (DECISIONS Directives 14).
Where both give an input, the text counts. An unknown input is refused. A required input needs a value or a declared default, even
when all its placeholders are optional. All problems are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rye.errors import RyeError, UsageError
from rye.items.directive.input_values import InputDeclaration, checked, from_text
from rye.text.spelling import near_miss


def parse_assignments(assignments: Iterable[str]) -> dict[str, str]:
    """``["name=value", …]`` as a mapping; the value begins after the first ``=`` and may be empty.

    Raises UsageError for a word without ``=``, without a name, or a name given twice.
    """
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError("bad-input", f"{assignment!r} gives no input a value.", "Write --input name=value.")
        if name in values:
            raise UsageError("bad-input", f"--input {name} is given twice.", "Give each input once.")
        values[name] = value
    return values


def resolve(
    declarations: Sequence[InputDeclaration],
    texts: Mapping[str, str] | None = None,
    values: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The value of every input that has one, in the order of the declarations.

    ``texts`` come from a command line, ``values`` from JSON. An optional input may be null in JSON; one that is not given and has
    no default is not in the result. Raises RyeError ``bad-inputs`` whose details list every problem.
    """
    texts, values = texts or {}, values or {}
    problems: dict[str, str] = {}
    known = [declaration.name for declaration in declarations]
    for name in sorted({*texts, *values} - set(known)):
        near = near_miss(name, known)
        problems[name] = "is not declared" + (f"; did you mean {near}?" if near else "")
    resolved: dict[str, object] = {}
    for declaration in declarations:
        name = declaration.name
        try:
            if name in texts:
                resolved[name] = from_text(declaration.type, texts[name])
            elif name in values:
                resolved[name] = _from_json(declaration, values[name])
            elif declaration.default is not None:
                resolved[name] = _default(declaration, declaration.default)
            elif declaration.required:
                problems[name] = f"is required ({declaration.type})"
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise _error(problems, known)
    return resolved


def _from_json(declaration: InputDeclaration, value: object) -> object:
    if value is None and not declaration.required:
        return None
    return checked(declaration.type, value)


def _default(declaration: InputDeclaration, default: str) -> object:
    try:
        return from_text(declaration.type, default)
    except ValueError as error:
        raise ValueError(f"has the default {default!r}: {error}") from None


def _error(problems: Mapping[str, str], known: Sequence[str]) -> RyeError:
    listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
    first = next((name for name in problems if name in known), None)
    hint = f"Give it as --input {first}=VALUE." if first else f"Declared inputs: {', '.join(known) or 'none'}."
    return RyeError(
        "bad-inputs",
        f"The inputs do not fit: {listed}.",
        hint,
        details={"problems": [{"input": name, "message": problem} for name, problem in problems.items()]},
    )
