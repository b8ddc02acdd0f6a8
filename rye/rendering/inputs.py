"""The values of a directive's inputs: given ones, checked against the declarations, and declared defaults for the others.

Text (``--input k=v``) is converted to the declared type; JSON (``--inputs FILE``) must have it exactly (DECISIONS Directives
14). If both set an input, the text wins. An unknown input is refused. A required input needs a value or a declared default,
even if all its placeholders are optional. All problems are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rye.errors import RyeError, UsageError
from rye.items.directive.input_values import InputDeclaration, checked, from_text
from rye.rendering.interpolation import Place, own_file
from rye.text.spelling import likeliest


def parse_assignments(assignments: Iterable[str], option: str = "--input") -> dict[str, str]:
    """Parse ``["name=value", …]`` into a mapping. The value begins after the first ``=`` and can be empty.

    Raises UsageError for a word without ``=`` or without a name, and for a duplicate name.
    """
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError(
                "bad-argument",
                f"{option} {assignment!r} is not of the form name=value.",
                f"Write {option} name=value.",
                what="input",
            )
        if name in values:
            raise UsageError("bad-argument", f"{option} {name} is a duplicate.", "Set each name once.", what="input")
        values[name] = value
    return values


def resolve(
    declarations: Sequence[InputDeclaration],
    texts: Mapping[str, str] | None = None,
    values: Mapping[str, object] | None = None,
    *,
    uses: Mapping[str, int] | None = None,
    place: Place = own_file,
) -> dict[str, object]:
    """Return the value of every input that has one, in the order of the declarations.

    ``texts`` come from a command line, ``values`` from JSON. An optional input can be null in JSON; one without a value or
    default is not in the result. ``uses``: the line where an input is first used, for messages. ``place`` maps that line and a
    declaration's to a file and its line. Raises RyeError ``bad-inputs``, whose details list every problem.
    """
    texts, values, uses = texts or {}, values or {}, uses or {}
    problems: dict[str, str] = {}
    known = [declaration.name for declaration in declarations]
    for name in sorted({*texts, *values} - set(known)):
        meant = likeliest(name, known)
        problems[name] = "is not declared" + (f"; did you mean {meant}?" if meant else "")
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
                problems[name] = f"is required ({declaration.type}){_where(declaration, uses.get(name), place)}"
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise _error(problems, declarations, uses, place)
    return resolved


def _where(declaration: InputDeclaration, used: int | None, place: Place) -> str:
    """Where a required input is declared and first used, in words."""
    said = []
    for verb, line in (("used", used), ("declared", declaration.line)):
        if line is not None:
            path, line = place(line)
            said.append(f"{verb} on line {line}" + (f" of {path}" if path is not None else ""))
    return f", {', '.join(said)}" if said else ""


def _from_json(declaration: InputDeclaration, value: object) -> object:
    if value is None and not declaration.required:
        return None
    return checked(declaration.type, value)


def _default(declaration: InputDeclaration, default: str) -> object:
    try:
        return from_text(declaration.type, default)
    except ValueError as error:
        raise ValueError(f"has the default {default!r}: {error}") from None


def _error(
    problems: Mapping[str, str], declarations: Sequence[InputDeclaration], uses: Mapping[str, int], place: Place
) -> RyeError:
    listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
    declared = {declaration.name: declaration.line for declaration in declarations}
    first = next((name for name in problems if name in declared), None)
    hint = f"Set it with --input {first}=VALUE." if first else f"Declared inputs: {', '.join(declared) or 'none'}."
    details: list[dict[str, object]] = []
    for name, problem in problems.items():
        line = uses.get(name) or declared.get(name)
        path, line = place(line) if line is not None else (None, None)
        details.append({"input": name, "message": problem, "line": line, "path": path})
    return RyeError("bad-inputs", f"Invalid inputs: {listed}.", hint, details={"problems": details})
