"""One thing that needs a yes, the texts by which it is remembered, and what a row of rye.lock approves: the one value of consent
that a row has, with the keys by which the file says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import total_ordering
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from rye.items.agent_tools import AgentTools, from_words
from rye.items.consented import HookAction, Run
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # only for text with unusual characters


@total_ordering
class Ask(Struct, frozen=True, eq=False):
    """One thing that needs a yes. Two are the same if item, sort and text are."""

    item: str
    """``kind:id``; for a signer the namespace, since it signs all of its items; for a grant the tool or table; for the state of a
    customization that was agreed to last, also its file."""
    sort: str
    """A name of :data:`rye.consent.sorts.SORTS`."""
    text: str
    """The pattern; the text of :func:`hook_text`, :func:`tool_texts` or :func:`run_text`; ``FACT VALUE``; the key's
    fingerprint; the range that a version is forced to; ``TARGET FIELD SHA-256`` that ``--allow-widening`` agreed to; or a
    customization's file with its hash, or with the reason why it counts no longer."""
    subject: Any = None
    """What it was made from, e.g. a HookAction, for those who show or compare it."""

    @property
    def line(self) -> str:
        """The stored form: one line of JSON."""
        return f"{self.start}{_quoted(self.text)}]"

    @property
    def start(self) -> str:
        """What the stored forms of this sort begin with for this item, whatever the text."""
        return f"[{_quoted(self.item)}, {_quoted(self.sort)}, "

    def as_json(self) -> dict[str, str]:
        """As an error's details and ``--json`` print it."""
        return {"item": self.item, "what": self.sort, "value": self.text}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ask) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Ask) -> bool:
        return self._key < other._key

    @property
    def _key(self) -> tuple[str, str, str]:
        return self.item, self.sort, self.text


def _quoted(text: str) -> str:
    return f'"{text}"' if is_plain(text) else json.dumps(text, ensure_ascii=True)


def is_plain(text: str) -> bool:
    """Whether JSON writes the text as it is, between quotation marks."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def hook_text(hook: HookAction) -> str:
    """A hook's condition and exact action, on one line. The text is unambiguous: a part that could be read as another part
    is quoted."""
    inputs = "".join(f" {_word(name)}={json.dumps(value, ensure_ascii=False)}" for name, value in hook.inputs)
    when = json.dumps(hook.when) if ": execute " in hook.when or not hook.when.isprintable() else hook.when
    return f"when {when}: execute {_word(hook.item_type)} {_word(hook.item_id)}{inputs}"


def _word(text: str) -> str:
    plain = text.isascii() and text.replace("_", "").replace("-", "").replace("/", "").replace(".", "").isalnum()
    return text if plain else json.dumps(text)


def run_text(run: Run) -> str:
    """What can run, where, how, and half of its hash, on one line."""
    return f"{run.what} {run.where}: {run.action} (sha256 {run.sha256[:32]})"


def tool_texts(names: tuple[str, ...], limits: tuple[str, ...]) -> list[str]:
    """Agent tools with their restrictions. Fewer restrictions make a different text."""
    restricted = f" ({'; '.join(limits)})" if limits else ""
    return [f"{name}{restricted}" for name in names]


class Approved(Struct, frozen=True):
    """What was approved, by the names of :data:`rye.consent.sorts.SORTS`' keys."""

    given: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """The key's name and what it has, sorted by name; a name without anything is left out. Made by :func:`approving`."""
    rules: int = 1
    """The rules (:data:`rye.text.facts.fact.RULES_VERSION`) that found the approved facts."""
    signer: str | None = None
    """Only set if ``rye lock`` chose a release that is not approved yet: the signer of the last approved release, or ``""`` if
    there was none."""

    def of(self, name: str) -> tuple[Any, ...]:
        """What is approved under a key's name: ``right`` has patterns, ``hook`` HookActions, ``run`` Runs, ``fact`` texts."""
        for each, values in self.given:
            if each == name:
                return values
        return ()

    @property
    def tools(self) -> AgentTools | None:
        """The approved tools of the agent program with their restrictions; None if there are none."""
        return from_words(self.of("tool"), self.of("limit"))

    @property
    def is_pending(self) -> bool:
        """Whether no one approved the release that ``rye lock`` chose."""
        return self.signer is not None

    @property
    def is_nothing(self) -> bool:
        """Whether no release of the item was ever approved."""
        return self.signer == ""

    def signer_of(self, signer: str) -> str:
        """The signer of the approved release, in a row whose release ``signer`` signed; empty if none was approved."""
        return signer if self.signer is None else self.signer

    def but(self, **given: Iterable[Any]) -> Approved:
        """The same with other values for these names."""
        return approving(self.rules, self.signer, **{**dict(self.given), **given})


def approving(rules: int = 1, signer: str | None = None, /, **given: Iterable[Any]) -> Approved:
    """An approval of these values, by the names of the sorts' keys."""
    there = {name: tuple(values) for name, values in given.items()}
    return Approved(tuple((name, there[name]) for name in sorted(there) if there[name]), rules, signer)


NOTHING = Approved()
"""Approves nothing; no one has to agree again to the signer."""

Form = Literal["texts", "runs", "hooks"]
RULES, SIGNER = "facts-rules", "approved-signer"
"""Keys that belong to no single sort: :attr:`Approved.rules` and :attr:`Approved.signer`."""
MOST_RULES = 9999
_RULES, _SIGNER = RULES.replace("-", "_"), SIGNER.replace("-", "_")
_TYPES: dict[Form, Any] = {"texts": tuple[str, ...], "runs": tuple[Run, ...], "hooks": tuple[HookAction, ...]}


class Key(Struct, frozen=True):
    """One key of a row that approves something."""

    name: str
    """As :meth:`rye.consent.ask.Approved.of` takes it."""
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
