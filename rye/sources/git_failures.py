"""Why a git command that talked to a server failed, by what it printed.

Git is run in the C locale (:mod:`rye.sources.git_program`), so its words are these. What the server printed (``remote:``) and the
address, which may contain anything, decide nothing: whoever answers is not silent. Where git says both, an answer wins.
"""

from __future__ import annotations

from rye.sources.git_program import timed_out
from rye.sources.source_error import SilentSource, SourceError, shown
from rye.text.lazy import lazy_pattern

_CHECK = "Check the address and the network, then run the command again."
_ANSWERED = lazy_pattern(
    r"(?:returned error:|RPC failed; HTTP|HTTP code|response) (?!5\d\d|429)[1-9]\d\d\b"
    r"|Authentication failed|could not read (?:Username|Password)|Permission denied|Host key verification failed"
    r"|certificate|remote error:"
)
_SILENT = lazy_pattern(
    r"Could not resolve|Failed to connect|Could(?:n't| not) connect|Connection (?:refused|reset|closed|timed out)|timed out"
    r"|Network is unreachable|No route to host|Empty reply from server|too slow|Broken pipe"
    r"|hung up unexpectedly|unexpected disconnect|early EOF|transfer closed"
    r"|(?:returned error:|RPC failed; HTTP|HTTP code|response) (?:5\d\d|429)\b"
)
"""What git, curl and ssh print about a server that is off or breaks off, or has a status that says so (429, 5xx)."""
_NO_REASON = "Could not read from remote repository."
"""What git adds to the words of ssh."""


def is_unadvertised(said: str) -> bool:
    """Whether the server answered that it does not give this commit or ref."""
    words = ("not our ref", "unadvertised object", "no such remote ref", "couldn't find remote ref")
    return any(word in said for word in words)


def failed(url: str, said: str) -> SourceError:
    """Return the error for a failed git command: its last message, and a hint for common causes. ``said``: its stderr."""
    reason = _reason(said)
    own = "\n".join(line for line in said.split("\n") if not line.startswith("remote:")).replace(url, "")
    if is_unadvertised(said):
        return SourceError("commit-missing", f"{url} does not serve that commit: {reason}.")
    if "redirect" in own or "The requested URL returned error: 30" in own:
        hint = "Redirects are not followed. If you trust the new address, write it to rye.toml."
        return SourceError("source-redirected", f"{url} redirects to another address: {reason}.", hint)
    message = f"{url} cannot be fetched: {reason}."
    if is_silence(own):
        return SilentSource("source-unreachable", message, _CHECK)
    hint = _CHECK
    if any(
        word in own
        for word in (
            "could not read Username",
            "Authentication failed",
            "Permission denied",
            "error: 403",
            "error: 401",
        )
    ):
        hint = "Check that `git ls-remote` can read it. It needs git's credential helper or your ssh key."
    elif "fsck" in own or "malformed" in own or "bad " in own.lower():
        return SourceError(
            "source-malformed", f"{url} is not a valid repository: {reason}.", "Nothing from it was used."
        )
    elif "dumb http" in own:
        hint = "The server only supports git's dumb HTTP protocol. Rye needs the smart protocol."
    return SourceError("source-unreachable", message, hint)


def is_silence(own: str) -> bool:
    """Whether git's own words, without the address, say that nobody answered."""
    return _ANSWERED.search(own) is None and _SILENT.search(own) is not None


def not_in_time(url: str, seconds: float) -> SilentSource:
    """Return the error for a server that did not answer within ``seconds``."""
    error = timed_out(seconds)
    return SilentSource(error.code, f"{url} does not answer: {error.message}", error.hint)


def _reason(said: str) -> str:
    """The last message, without the full stop; of ssh's, the one before git's. ssh ends its lines as terminals want it."""
    lines = said.replace("\r\n", "\n").split("\n")
    end = next((number for number, line in enumerate(lines) if line.endswith(_NO_REASON)), 0)
    told = [line for line in lines[:end] if line.strip()] or [
        line for line in lines if line.startswith(("fatal:", "error:", "remote:"))
    ]
    last = (told or lines)[-1]
    return shown(last.removeprefix("fatal: ").removeprefix("ssh: "), 300).strip().rstrip(".") or "git gave no reason"
