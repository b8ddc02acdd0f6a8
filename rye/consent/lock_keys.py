"""The keys of rye.lock by which a row approves something, and how they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from rye.consent.approved import NOTHING, Approved, approving
from rye.items.consented import HookAction, Run

Form = Literal["texts", "runs", "hooks"]
RULES, SIGNER = "facts-rules", "approved-signer"
"""Keys that belong to no single sort: :attr:`Approved.rules` and :attr:`Approved.signer`."""
MOST_RULES = 9999
_RULES, _SIGNER = RULES.replace("-", "_"), SIGNER.replace("-", "_")
_TYPES: dict[Form, Any] = {"texts": tuple[str, ...], "runs": tuple[Run, ...], "hooks": tuple[HookAction, ...]}


class Key(Struct, frozen=True):
    """One key of a row that approves something."""

    name: str
    """As :meth:`rye.consent.approved.Approved.of` takes it."""
    key: str
    """As rye.lock writes it."""
    form: Form = "texts"
    """What its list has, one on each line. Texts and runs are sorted; hooks keep their order, and stand after the others."""
    field: str = ""
    """The name of its field in the type of a row."""

    def __post_init__(self) -> None:
        force_setattr(self, "field", self.key.replace("-", "_"))


def row_fields(keys: Iterable[Key]) -> list[tuple[str, Any, Any]]:
    """The fields of a row that approve something: name, type and default."""
    listed = [(key.field, _TYPES[key.form], ()) for key in keys]
    return [*listed, (_RULES, int, 1), (_SIGNER, str | None, None)]


def approved_in(row: object, keys: Iterable[Key]) -> Approved:
    """What a row with :func:`row_fields` approves."""
    given = {key.name: values for key in keys if (values := getattr(row, key.field))}
    rules, signer = getattr(row, _RULES), getattr(row, _SIGNER)
    return approving(rules, signer, **given) if given or rules != 1 or signer is not None else NOTHING
