"""Checks the outputs that an agent passes to ``rye_return`` against the directive's declaration."""

from __future__ import annotations

from collections.abc import Mapping

from rye.items.directive.input_values import INPUT_TYPES, checked
from rye.items.directive.model import LegacyOutputs, Output
from rye.runtime.calls import CallError

Declared = tuple[Output, ...] | LegacyOutputs | None
"""None: the run was started without a directive, so nothing is declared."""


def deviations(declared: Declared, outputs: Mapping[str, object]) -> CallError | None:
    """Return the error that names missing, unknown and ill-typed outputs; None if they match the declaration.

    Every declared output is required. One without a type may be anything but null. Older directives, which declare
    messages instead of outputs, may return anything.
    """
    if isinstance(declared, LegacyOutputs):
        return None
    by_name = {output.name: output for output in declared or ()}
    missing = [name for name in by_name if name not in outputs]
    unknown = sorted(name for name in outputs if name not in by_name)
    ill_typed = [
        {"name": name, "expected": output.type or "a value", "message": message}
        for name, output in by_name.items()
        if name in outputs and (message := _wrong(output, outputs[name])) is not None
    ]
    if not (missing or unknown or ill_typed):
        return None
    said = [f"missing: {', '.join(missing)}"] if missing else []
    said += [f"unknown: {', '.join(unknown)}"] if unknown else []
    said += [f"ill-typed: {', '.join(each['name'] for each in ill_typed)}"] if ill_typed else []
    hint = f"Declared: {', '.join(by_name) or 'none'}. Call rye_return again with exactly these."
    return CallError(
        "deviation",
        f"The outputs do not match the directive's declaration ({'; '.join(said)}).",
        hint,
        details={"type": "schema_mismatch", "missing": missing, "unknown": unknown, "ill_typed": ill_typed},
    )


def _wrong(output: Output, value: object) -> str | None:
    if output.type is None:
        return "expected a value, not null" if value is None else None
    if output.type in ("number", "float"):
        ok = isinstance(value, int | float) and not isinstance(value, bool)
        return None if ok else "expected a number"
    if output.type not in INPUT_TYPES:
        return None
    try:
        checked(output.type, value)
    except ValueError as error:
        return str(error)
    return None
