"""Running the installed ``git`` so that only the arguments given here decide what it does.

The repository, its address and the content of the cache are assumed hostile. Rules:

* Arguments are a list, and untrusted ones come after ``--`` (or are a full hash).
* The environment is built here. None of git's own variables is inherited, so ``GIT_DIR``, ``GIT_SSH_COMMAND``,
  ``GIT_CONFIG_COUNT`` and the like have no effect.
* Configuration: no system file, no user file, no attributes. rye writes the cache's own file and compares it before
  each use (:mod:`rye.sources.git_cache`). From the user's configuration only TLS and credential settings are copied,
  by name (:data:`_TAKEN`); hooks, filters, templates, ``insteadOf``, protocols and file system monitors are not.
* Protocols: https and ssh; plain http to loopback addresses and a repository's folder, each only for an address of that
  form. Redirects are refused, so no server can send us elsewhere. git itself refuses a folder of another user.
* The way to the user's ssh-agent is passed for ssh addresses only.
* Limits: time, output, the size of every file that git writes, and its memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from rye.limits import SOURCES
from rye.sources.source_error import SourceError, shown

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

_PASSED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "all_proxy",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)
_TO_SSH_AGENT = ("SSH_AUTH_SOCK", "SSH_AGENT_PID")
"""Passed only where the address is ssh's, whose program asks the agent: not to credential helpers and other parts of git."""
_TAKEN = re.compile(
    r"http\.(?:.+\.)?(?:sslcainfo|sslcapath|sslcert|sslkey|sslcertpasswordprotected|sslbackend|schannelcheckrevoke)"
    r"|credential\.(?:.+\.)?(?:helper|username|usehttppath)",
    re.IGNORECASE | re.DOTALL,
)
_FIXED = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.askPass": "",
    "core.bigFileThreshold": "1m",
    "init.templateDir": "",
    "protocol.allow": "never",
    "protocol.https.allow": "always",
    "protocol.ssh.allow": "always",
    "protocol.version": "2",
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.fsckObjects": "true",
    "transfer.fsckObjects": "true",
    "fetch.writeCommitGraph": "false",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "advice.detachedHead": "false",
}
_FSCK_FORGIVEN = ("zeroPaddedFilemode", "missingSpaceBeforeDate", "badTimezone", "missingNameBeforeEmail", "badEmail")
"""Problems that old commits in real repositories have and that do not affect files."""
_OLDEST = (2, 32)
"""Older versions ignore ``GIT_CONFIG_GLOBAL`` and read the user's configuration."""
_SAID = 16 * 1024
_CONFIG_BYTES = 1 << 20
_GRACE = 5.0


class Finished(Struct, frozen=True):
    """The result of one run of git."""

    code: int
    out: bytes
    err: str
    """Its stderr, with unprintable characters replaced."""


class Asking(Struct, frozen=True):
    """Whether git can ask for a passphrase or password."""

    terminal: bool = False


@lru_cache(maxsize=4)
def program(path: str | None = None) -> str:
    """Return the git on this PATH (None: the process's). It must be new enough to take its whole configuration from us.

    Raises SourceError ``no-git``.
    """
    found = shutil.which("git", path=path)
    if found is None:
        raise SourceError("no-git", "git is not installed.", "Install git; Rye needs it to fetch git sources.")
    try:
        said = subprocess.run(
            [found, "version"],
            env={name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ} | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GRACE,
            check=False,
            cwd=_neutral(),
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError("no-git", f"git cannot be started: {error}.", "Install git.") from error
    version = re.match(rb"git version (\d{1,4})\.(\d{1,4})", said)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise SourceError("no-git", f"git is older than {oldest}, which rye needs.", f"Install git {oldest} or newer.")
    return found


def environment(
    given: Mapping[str, str], asking: Asking, config: Sequence[tuple[str, str]], scheme: str = ""
) -> dict[str, str]:
    """Return the environment of one run. It inherits no variables of git, and has the whole configuration. ``scheme``: as in
    :func:`configuration`."""
    passed = (*_PASSED, *_TO_SSH_AGENT) if scheme == "ssh" else _PASSED
    found = {name: given[name] for name in passed if name in given}
    found |= {
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "1" if asking.terminal else "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_VARIANT": "ssh",
        "GIT_SSH_COMMAND": "ssh -oPermitLocalCommand=no -oClearAllForwardings=yes"
        + ("" if asking.terminal else " -oBatchMode=yes"),
        "GIT_CONFIG_COUNT": str(len(config)),
    }
    for number, (key, value) in enumerate(config):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found


def configuration(user: Sequence[tuple[str, str]], scheme: str) -> list[tuple[str, str]]:
    """Return all settings of one run: the user's for TLS and credentials, then ours, which take precedence. ``scheme``: of the
    address, which may be ``http`` to this machine or ``file``; empty if nothing is contacted."""
    own = list(_FIXED.items())
    own += [(f"fetch.fsck.{name}", "ignore") for name in _FSCK_FORGIVEN]
    own += [(f"protocol.{name}.allow", "always" if scheme == name else "never") for name in ("http", "file")]
    return [*(pair for pair in user if _TAKEN.fullmatch(pair[0])), *own]


_OF_A_CHECKOUT = {
    **{
        key: _FIXED[key] for key in ("core.hooksPath", "core.fsmonitor", "core.askPass", "submodule.recurse", "gc.auto")
    },
    "safe.bareRepository": "explicit",
    "maintenance.auto": "false",
    "status.submoduleSummary": "false",
    "core.sshCommand": "false",
    "core.pager": "cat",
    "log.showSignature": "false",
    "credential.helper": "",
}
"""What takes precedence over the configuration of a folder that others may have made. Of diff drivers and filters, whose keys are
the folder's own, see :func:`rye.publishing.working_tree.uncommitted`."""


def in_checkout(folder: Path, arguments: Sequence[str], settings: Sequence[str] = ()) -> list[str]:
    """Return the command that reads a checkout, whose configuration, attributes and hooks others may have made: no hook, monitor,
    pager, credential helper or submodule of it runs. ``settings``: more, as words of the command line.

    It runs in :func:`checkout_environment`, which forbids every transport: git fetches what a partial clone lacks, by a
    command that the clone's configuration names.
    """
    safe = [word for key, value in _OF_A_CHECKOUT.items() for word in ("-c", f"{key}={value}")]
    return [
        *("git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", *safe, *settings),
        *("-C", str(folder.absolute()), *arguments),
    ]


def checkout_environment() -> dict[str, str]:
    """Return the environment of :func:`in_checkout`: the process's, because the user's configuration decides what counts as
    changed, without what contacts or starts something."""
    kept = {name: value for name, value in os.environ.items() if name not in _STARTING}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
    }


_STARTING = frozenset(
    (
        *("GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_PAGER", "SSH_ASKPASS"),
        *_TO_SSH_AGENT,
    )
)


def user_settings(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the user's git configuration (``~/.gitconfig`` and the like), from which the caller picks. If neither file exists,
    git is not run."""
    home = given.get("HOME", "")
    folder = given.get("XDG_CONFIG_HOME") or f"{home}/.config"
    if os.name == "posix" and not any(os.path.lexists(path) for path in (f"{home}/.gitconfig", f"{folder}/git/config")):
        return ()
    clean = {
        name: given[name] for name in ("PATH", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "SYSTEMROOT") if name in given
    }
    try:
        done = subprocess.run(
            [program(given.get("PATH")), "config", "--global", "--includes", "--list", "-z"],
            env={**clean, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
            cwd=_neutral(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GRACE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    if done.returncode != 0 or len(done.stdout) > _CONFIG_BYTES:
        return ()
    rows = done.stdout.decode("utf-8", "replace").split("\0")
    return tuple((key, value) for key, newline, value in (row.partition("\n") for row in rows) if newline)


def run(
    arguments: Sequence[str],
    env: Mapping[str, str],
    *,
    seconds: float,
    most_bytes: int,
    cwd: Path | None = None,
    began: Callable[[subprocess.Popen[bytes]], None] = lambda process: None,
) -> Finished:
    """Run git to its end. ``began``: gets the process, for a thread that may have to stop it. Raises SourceError
    ``source-timeout``, ``source-too-large`` (its answer), ``no-git``."""
    with started(arguments, env, cwd, stdin=False) as process:
        began(process)
        timer = Deadline(process, seconds)
        try:
            reader = _Said(process)
            assert process.stdout is not None
            out = process.stdout.read(most_bytes + 1)
            if len(out) > most_bytes:
                stop(process)
                raise SourceError("source-too-large", f"git's output is larger than {most_bytes:,} bytes.")
            code = process.wait()
            err = reader.text()
        finally:
            timer.cancel()
        if timer.passed:
            raise timed_out(seconds)
        return Finished(code, out, err)


@contextlib.contextmanager
def started(
    arguments: Sequence[str], env: Mapping[str, str], cwd: Path | None, *, stdin: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Run git for the duration of the block; at the end kill it and its children. ``stdin``: whether it waits for input before it
    does anything. Its limits are then set after it started, which is several times as fast as between fork and exec."""
    process = _start(arguments, env, cwd, stdin=stdin, bound=not (stdin and _bounds_from_outside()))
    if stdin and _bounds_from_outside() and not _bound_from_outside(process.pid):
        _end(process)
        process = _start(arguments, env, cwd, stdin=True, bound=True)
    try:
        yield process
    finally:
        _end(process)


def _start(
    arguments: Sequence[str], env: Mapping[str, str], cwd: Path | None, *, stdin: bool, bound: bool
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [program(env.get("PATH")), "--no-pager", "--no-optional-locks", *arguments],
            env=dict(env),
            cwd=str(cwd) if cwd is not None else _neutral(),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=env.get("GIT_TERMINAL_PROMPT") != "1",
            preexec_fn=_bound if bound and resource is not None else None,
        )
    except OSError as error:
        raise SourceError("no-git", f"git cannot be started: {error.strerror}.", "Install git.") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    stop(process)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill git and, if it leads its own process group, everything that it started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if os.name == "posix" and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def timed_out(seconds: float) -> SourceError:
    """The error for git running longer than ``seconds``."""
    return SourceError(
        "source-timeout",
        f"git did not finish within {seconds:.0f} seconds.",
        "Try again. If the repository is too large, ask its maintainers for one with only the items.",
    )


def fetched_too_much() -> SourceError:
    """The error for a commit larger than the limit."""
    return SourceError(
        "source-too-large",
        f"The repository's commit is larger than {SOURCES.fetch_bytes:,} bytes.",
        "Ask its maintainers for a repository with only the items.",
    )


def _bounds() -> Iterator[tuple[int, tuple[int, int]]]:
    """The limits on git's file sizes and memory."""
    for which, most in ((resource.RLIMIT_FSIZE, SOURCES.fetch_bytes), (resource.RLIMIT_AS, SOURCES.memory_bytes)):
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        yield which, (most, most)
    yield resource.RLIMIT_CORE, (0, 0)


def _bound() -> None:
    """Set the limits in the child process, before git starts."""
    for which, most in _bounds():
        resource.setrlimit(which, most)


def _bounds_from_outside() -> bool:
    """Whether this system can limit a running process."""
    return hasattr(resource, "prlimit")


def _bound_from_outside(process: int) -> bool:
    """Limit a git process that waits for input. Return whether that worked."""
    try:
        for which, most in _bounds():
            resource.prlimit(process, which, most)
    except OSError:
        return False
    return True


def _neutral() -> str:
    """A folder outside any project, because git looks for configuration in its working directory."""
    return os.path.abspath(os.sep)


class Deadline:
    """Kills a process when its time is up."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.passed = False
        self._process = process
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self.passed = True
        stop(self._process)

    def cancel(self) -> None:
        """Stop the timer; git finished in time."""
        self._timer.cancel()


class _Said:
    """Reads a process's stderr while it runs, and keeps the beginning."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._kept = b""
        self._stream = process.stderr
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._stream is not None
        with contextlib.suppress(OSError, ValueError):
            while chunk := self._stream.read1(4096):  # type: ignore[attr-defined]
                if len(self._kept) < _SAID:
                    self._kept += chunk[: _SAID - len(self._kept)]

    def text(self) -> str:
        self._thread.join(_GRACE)
        lines = self._kept.decode("utf-8", "replace").split("\n")
        return "\n".join(shown(line, 500) for line in lines if line)
