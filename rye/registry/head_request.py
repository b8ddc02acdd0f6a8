"""The request for a registry's newest head, with the roots that lead to it, and what serves if there is no answer.

Nothing here decides whether a head is accepted: :mod:`rye.registry.trust.trusted` does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from rye.limits import RegistryLimits
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Snapshot
from rye.registry.store.state import HeadTags
from rye.registry.transport.seam import (
    ASK_AGAIN,
    ConditionalTransport,
    FetchError,
    NoAnswer,
    Request,
    SilentTransport,
    Tagged,
)
from rye.registry.trust.head_times import CLOCK
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import OpenedHead, TrustedState
from rye.registry.waves import Waves


class _Begun:
    """A request under way. ``held``: the head that it was sent with."""

    def __init__(self, held: str, ask: Callable[[], Tagged | FetchError]) -> None:
        self.held = held
        self._ask = ask
        self._answer: Tagged | FetchError | BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rye-head", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._ask()
        except BaseException as error:  # raised in the caller's thread
            self._answer = error

    def answer(self) -> Tagged | FetchError:
        """The answer, as soon as it is there. Raises what asking raised."""
        self._thread.join()
        found = self._answer
        assert found is not None
        if isinstance(found, BaseException) and not isinstance(found, FetchError):
            raise found
        return found


class HeadRequest:
    """Asks one registry for its head. After an outage that the last verified head survives, ``waves`` asks it nothing more."""

    def __init__(
        self,
        address: str,
        waves: Waves,
        folder: Path,
        limits: RegistryLimits,
        *,
        survives: bool,
        patient: bool,
        now: Callable[[], datetime],
        silence: NoAnswer | None = None,
    ) -> None:
        """``folder``: where the tags of heads are remembered. ``survives``, ``patient``, ``silence``: see
        :class:`rye.registry.client.Options`."""
        self.outage: NoAnswer | None = None
        """Why the head is only the last verified one; None if the registry answered, or was not asked."""
        self._address = address
        self._waves = waves
        self._folder = folder
        self._limits = limits
        self._survives = survives
        self._patient = patient
        self._now = now
        self._known_silence = silence
        self._begun: _Begun | None = None
        self._tagged: tuple[str, str] | None = None
        self._answered: datetime | None = None

    def begin(self, held: str) -> None:
        """Send the request now, in a thread; :meth:`newest` waits for the answer. So several registries are asked at once, and
        those that do not answer cost one time limit together."""
        self._begun = _Begun(held, lambda: self._ask(held, self._patience(held)))

    def newest(self, held: str | None) -> bytes:
        """Return the registry's head, or the last verified one (``held``) if that is unchanged or survives an outage.

        Raises FetchError, and TrustError ``head-frozen`` if an outage lasts too long.
        """
        begun, self._begun = self._begun, None
        same = begun is not None and begun.held == held  # otherwise another program accepted a newer one meanwhile
        fetched: Tagged | FetchError
        if self._known_silence is not None:
            fetched = self._known_silence
        else:
            fetched = begun.answer() if begun is not None and same else self._ask(held, self._patience(held))
        age = None if held is None or not self._survives else self._age_of(held)
        if isinstance(fetched, NoAnswer):
            seen: dict[str, object] = {} if held is None else {"last_seen": write_time(_time_of(held))}
            error = fetched.of_registry(self._address, ASK_AGAIN, seen)
            if held is None or age is None:
                raise error
            if age > timedelta(seconds=self._limits.outage_seconds):
                hours, most = age // timedelta(hours=1), self._limits.outage_seconds // 3600
                message = f"{error.message} Its last verified state is {hours} hours old; the limit is {most}."
                too_old = TrustError("head-frozen", message, **seen)
                too_old.hint = error.hint  # the registry was silent, it did not show an old head
                raise too_old from fetched
            self.outage, self._waves.transport = error, SilentTransport(error)
            return held.encode()
        if isinstance(fetched, FetchError):
            raise fetched
        if isinstance(self._waves.transport, ConditionalTransport) and self._is_hasty(held):
            self._waves.transport.hurry(self._limits.answer_seconds)
        data, self._answered = fetched.data, fetched.date
        if data is None:
            assert held is not None  # a tag is sent only with it
            return held.encode()
        if fetched.tag is not None:
            self._tagged = (data.decode("utf-8", "replace"), fetched.tag)
        return data

    def opened(self, state: TrustedState, data: bytes, *, signed_before: bool, asks: bool) -> OpenedHead:
        """Check a head; if it is older than the last accepted one, with the steps back in time of the log. ``asks``: whether the
        registry may be asked for these. Raises TrustError."""
        now, limits, answered = self._now(), self._limits, self._answered
        try:
            return state.open_head(data, now, limits, signed_before=signed_before, answered=answered)
        except TrustError as error:
            if error.code != "snapshot-time" or not asks:
                raise
            (steps,) = self._waves.fetch([Request(CLOCK, limits.index_bytes)])
            if isinstance(steps, FetchError):
                raise
        return state.open_head(data, now, limits, signed_before=signed_before, steps=steps, answered=answered)

    def follow_roots(self, state: TrustedState, wanted: int) -> TrustedState:
        """Return the state with all roots up to ``wanted``, or up to the last that exists, which the snapshot must name.

        Raises TrustError and FetchError.
        """
        number = state.root.number
        wanted = min(wanted, number + self._limits.roots)
        while number < wanted:
            wave = range(number + 1, min(wanted, number + self._limits.concurrency) + 1)
            requests = [Request(f"root/{n}", self._limits.root_bytes) for n in wave]
            for fetched in self._waves.fetch(requests):
                if isinstance(fetched, FetchError):
                    if fetched.code == "fetch-not-found":
                        return state
                    raise fetched
                state = state.accept_root(fetched)
            number = state.root.number
        return state

    def remember_tag(self) -> None:
        """Remember the tag of the head that was fetched: an unchanged one then costs an empty answer."""
        if self._tagged is not None:
            HeadTags(self._folder).remember(self._address, *self._tagged)

    def _patience(self, held: str | None) -> float:
        """How many seconds the registry may take: fewer where the last verified head will do."""
        return self._limits.hasty_answer_seconds if self._is_hasty(held) else self._limits.answer_seconds

    def _is_hasty(self, held: str | None) -> bool:
        """Whether the last verified head will do."""
        age = None if held is None or not self._survives or self._patient else self._age_of(held)
        return age is not None and age <= timedelta(seconds=self._limits.outage_seconds)

    def _ask(self, held: str | None, seconds: float) -> Tagged | FetchError:
        request = Request("head", self._limits.head_bytes)
        transport = self._waves.transport
        if not isinstance(transport, ConditionalTransport):
            fetched = transport.fetch_many([request])[0]
            return fetched if isinstance(fetched, FetchError) else Tagged(fetched, None)
        tag = HeadTags(self._folder).tag(self._address, held) if held is not None else None
        return transport.fetch_if_changed(request, tag, seconds)

    def _age_of(self, held: str) -> timedelta:
        """The age of a verified head, by its own signed time."""
        return self._now() - _time_of(held)


def _time_of(held: str) -> datetime:
    return Snapshot.parse(notes.parse(wire.decode_head(held.encode()).snapshot).text).time
