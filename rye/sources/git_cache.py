"""Bare repositories in the user's cache, one per address, named by the address's hash. There is never a checkout.

A repository has the fetched objects and a configuration of only the few lines that rye writes. Other programs can
write to a cache, so before each use the folder must look exactly as rye created it (:func:`_is_ours`); otherwise it is
deleted and created again. Code that reads the objects checks them (:mod:`rye.sources.git_objects`): a bad object gives
an error, never a wrong byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from rye.limits import SOURCES
from rye.project.declared_sources import is_commit, is_on_disk
from rye.sources import git_program
from rye.sources.git_failures import failed, is_unadvertised, not_in_time
from rye.sources.git_objects import too_large
from rye.sources.git_program import Asking, Finished
from rye.sources.refs import read_refs
from rye.sources.source_error import SilentSource, SourceError

_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = true\n"
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"
_HEAD = "ref: refs/heads/none\n"
_TOP = frozenset({"HEAD", "config", "objects", "refs", "shallow", "packed-refs", "shallow.lock"})
_FOLDERS = ("objects", "objects/info", "objects/pack", "refs")
_NEVER = ("objects/info/alternates", "objects/info/http-alternates", "objects/info/grafts")
_MARKS = "refs/rye"
_HEADER_BYTES = 256


class GitCache:
    """The repositories of one run. ``environment``: the process's variables; ``offline``: contact no server;
    ``may_contact``: whether the server of this address may be contacted, because anyone with commit access can write rye.toml.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        offline: bool,
        asking: Asking | None = None,
        may_contact: Callable[[str], bool] = lambda url: True,
    ):
        self._may_contact = may_contact
        self._folder = folder
        self._given = environment
        self._offline = offline
        self._asking = asking or Asking()
        self._settings: tuple[tuple[str, str], ...] | None = None
        self._refs: dict[str, dict[str, str]] = {}
        self._silent: dict[str, SilentSource] = {}
        """Servers that did not answer: they are not asked again in this run."""
        self._objects: dict[tuple[str, str], Objects] = {}

    def refs(self, url: str) -> dict[str, str]:
        """Return the server's branches and tags, requested once per run. Raises SourceError."""
        if url not in self._refs:
            self._require_network(url, "its branches and tags are not cached")
            self._require_answer(url)
            try:
                self._refs[url] = self._listed(url, self._environment(urlsplit(url).scheme))
            except SilentSource as error:
                self._silent[url] = error
                raise
        return self._refs[url]

    def ask_together(self, urls: Iterable[str]) -> None:
        """Ask several servers for their branches and tags at once, so that those which are silent cost one time limit together.
        Nobody is asked for a password: a server that wants one is asked again when it is needed."""
        new = [url for url in dict.fromkeys(urls) if url not in self._refs and url not in self._silent]
        asked = [url for url in new if (is_on_disk(url) or not self._offline) and self._may_contact(url)]
        if len(asked) < 2:
            return
        running: list[subprocess.Popen[bytes]] = []
        environments = {url: self._environment(urlsplit(url).scheme, Asking()) for url in asked}

        slots = threading.Semaphore(SOURCES.asked_at_once)

        def ask(url: str) -> None:
            try:
                with slots:
                    self._refs[url] = self._listed(url, environments[url], running.append)
            except SilentSource as error:
                self._silent[url] = error
            except (SourceError, OSError):  # the next request reports it
                pass

        threads = [threading.Thread(target=ask, args=(url,), name="rye-git", daemon=True) for url in asked]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:  # Ctrl-C
            for process in list(running):
                git_program.stop(process)
            raise

    def _listed(
        self,
        url: str,
        env: Mapping[str, str],
        began: Callable[[subprocess.Popen[bytes]], None] = lambda process: None,
    ) -> dict[str, str]:
        words = ["ls-remote", "--quiet", "--symref", "--", url]
        most, seconds = SOURCES.refs_bytes, SOURCES.refs_seconds
        done = self._git(url, words, env, most_bytes=most, seconds=seconds, began=began)
        if done.code != 0:
            raise failed(url, done.err)
        return read_refs(done.out.decode("utf-8", "replace"))

    def _require_answer(self, url: str) -> None:
        """Do not ask a server again that was silent. Raises SourceError."""
        if url in self._silent:
            raise self._silent[url].with_traceback(None)

    def has(self, url: str, commit: str) -> bool:
        """Whether the cache has the commit. A missing file is only noticed when it is read."""
        return _is_ours(self._place(url), commit) and (self._place(url) / _mark(commit)).is_file()

    def commits(self, url: str, digits: str) -> list[str]:
        """The commits in the cache that begin with these digits."""
        with contextlib.suppress(OSError):
            names = [entry.name for entry in os.scandir(self._place(url) / _MARKS)]
            return sorted(name for name in names if name.startswith(digits) and is_commit(name) and self.has(url, name))
        return []

    def fetch(self, url: str, commit: str, ref: str | None) -> None:
        """Fetch a commit with its files but without its history. ``ref``: a ref that the server lists for it, for servers that
        only serve listed commits.

        Raises SourceError, ``commit-missing`` where the server does not have the commit.
        """
        self._require_network(url, f"the commit {commit} is not in the cache")
        self._require_answer(url)
        place = self._place(url)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with FileLock(str(place.with_suffix(".lock")), timeout=SOURCES.fetch_seconds, mode=0o600):
                if not self.has(url, commit):
                    _make(place, commit)
                    try:
                        self._fetch(url, place, commit, ref)
                    finally:
                        _sweep(place)
        except Timeout:
            raise not_in_time(url, SOURCES.fetch_seconds) from None

    def _fetch(self, url: str, place: Path, commit: str, ref: str | None) -> None:
        wanted = [f"+{commit}:{_mark(commit)}"]
        done = self._fetch_once(url, place, ["--depth=1"], wanted)
        if done.code != 0 and is_unadvertised(done.err) and ref is not None:
            done = self._fetch_once(url, place, ["--depth=1"], [f"+{ref}:refs/rye/asked"])
        if done.code != 0 and is_unadvertised(done.err):
            done = self._fetch_once(url, place, [], ["+refs/heads/*:refs/rye/heads/*", "+refs/tags/*:refs/rye/tags/*"])
        if done.code != 0:
            raise failed(url, done.err)
        if not self._has_object(place, commit):
            raise SourceError("commit-missing", f"{url} does not have the commit {commit}.")
        mark = place / _mark(commit)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(f"{commit}\n", encoding="ascii")

    def _fetch_once(self, url: str, place: Path, options: Sequence[str], wanted: Sequence[str]) -> Finished:
        words = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"]
        words += ["--no-auto-maintenance", "--no-show-forced-updates", "--update-shallow", *options, "--", url, *wanted]
        done = self._git(url, [f"--git-dir={place}", *words], self._environment(urlsplit(url).scheme))
        if done.code != 0 and _was_cut_off(place):
            raise git_program.fetched_too_much()
        return done

    def _has_object(self, place: Path, commit: str) -> bool:
        env = self._environment("")
        words = [f"--git-dir={place}", "cat-file", "-e", commit]
        return git_program.run(words, env, seconds=SOURCES.read_seconds, most_bytes=_HEADER_BYTES).code == 0

    def objects(self, url: str, commit: str) -> Objects:
        """Return a reader for a repository that has the commit; one per commit and run."""
        place = self._place(url)
        if not _is_ours(place, commit):
            raise _not_cached(url, commit)
        if (url, commit) not in self._objects:
            self._objects[(url, commit)] = Objects(place, self._environment(""), commit)
        return self._objects[(url, commit)]

    def _git(
        self,
        url: str,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        most_bytes: int = 1 << 16,
        seconds: float = SOURCES.fetch_seconds,
        began: Callable[[subprocess.Popen[bytes]], None] = lambda process: None,
    ) -> Finished:
        try:
            return git_program.run(words, env, seconds=seconds, most_bytes=most_bytes, began=began)
        except SourceError as error:
            if error.code != "source-timeout":
                raise
            raise not_in_time(url, seconds) from error

    def _environment(self, scheme: str, asking: Asking | None = None) -> dict[str, str]:
        if self._settings is None:
            self._settings = git_program.user_settings(self._given)
        config = git_program.configuration(self._settings, scheme)
        return git_program.environment(self._given, asking or self._asking, config, scheme)

    def _place(self, url: str) -> Path:
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:40]}.git"

    def _require_network(self, url: str, why: str) -> None:
        if self._offline and not is_on_disk(url):
            message = f"{url} cannot be contacted offline, and {why}."
            raise SourceError("source-offline", message, "Run the command once without --offline.")
        if not self._may_contact(url):
            raise SourceError(
                "source-not-agreed",
                f"{url} is in [sources] in rye.toml, but you have not approved it, so it is not contacted.",
                "Run `rye install` on a terminal to review it, or `rye install --yes` to approve it.",
            )


class Objects:
    """Reads objects of one repository with ``git cat-file``. The caller must check them. Commits and trees, which several sources
    can request, are kept in memory up to a limit."""

    def __init__(self, place: Path, env: dict[str, str], commit: str) -> None:
        self._place = place
        self._env = env
        self._commit = commit
        self._kept: dict[tuple[str, str], bytes] = {}
        self._left = SOURCES.kept_bytes
        self._together: contextlib.ExitStack | None = None
        self._waiting: dict[str, subprocess.Popen[bytes]] = {}
        """Gits that have answered everything so far, by their option."""

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Read everything in the block with one git, and all sizes with another: each start takes longer than most answers."""
        with contextlib.ExitStack() as self._together:
            try:
                yield
            finally:
                self._together = None
                self._waiting.clear()

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return sizes of blobs in bytes; missing objects and other kinds are left out."""
        answers = self._answers("--batch-check", list(dict.fromkeys(names)), 0)
        return {name: size for name, kind, size, _ in answers if kind == "blob"}

    def read(self, names: Iterable[str], kind: str, most_bytes: int) -> dict[str, bytes]:
        """Return the bytes of objects of one kind, each at most ``most_bytes``, in total at most the limit of a run.

        Raises SourceError ``source-incomplete``, ``source-too-large``.
        """
        asked = list(dict.fromkeys(names))
        found = {name: self._kept[(kind, name)] for name in asked if (kind, name) in self._kept}
        for name, is_kind, _, data in self._answers(
            "--batch", [name for name in asked if name not in found], most_bytes
        ):
            if is_kind != kind:
                raise _incomplete(name, "it is missing" if not is_kind else f"it is a {is_kind}, not a {kind}")
            found[name] = data
            if kind != "blob" and len(data) <= self._left:
                self._left -= len(data)
                self._kept[(kind, name)] = data
        return {name: found[name] for name in asked}

    def _answers(self, option: str, names: Sequence[str], most_bytes: int) -> Iterator[tuple[str, str, int, bytes]]:
        """Yield ``(name, kind, size, bytes)`` in the order of ``names``; the kind is empty for a missing object."""
        if not names:
            return
        left = SOURCES.content_bytes
        with self._asked(option) as process:
            writer = threading.Thread(target=_write, args=(process, names), daemon=True)
            writer.start()
            assert process.stdout is not None
            for name in names:
                header = process.stdout.readline(_HEADER_BYTES)
                parts = header.decode("ascii", "replace").split()
                if len(parts) == 2 and parts[1] == "missing":
                    yield name, "", 0, b""
                    continue
                if len(parts) != 3 or parts[0] != name or not parts[2].isascii() or not parts[2].isdigit():
                    raise _incomplete(name, "git stopped while it read the cache")
                size = int(parts[2])
                data = b""
                if option == "--batch":
                    left -= size
                    if size > most_bytes or left < 0:
                        raise too_large(f"a file or folder of {size:,} bytes")
                    data = process.stdout.read(size)
                    if len(data) != size or process.stdout.read(1) != b"\n":
                        raise _incomplete(name, "git stopped while it read the cache")
                yield name, parts[1], size, data

    @contextlib.contextmanager
    def _asked(self, option: str) -> Iterator[subprocess.Popen[bytes]]:
        """A git that is asked for objects. Where something fails, or not every answer is read, it is asked no more."""
        if self._together is None:
            with self._started(option) as process, _in_time(process):
                yield process
            return
        is_here = option in self._waiting
        process = self._waiting.pop(option) if is_here else self._together.enter_context(self._started(option))
        with _in_time(process):
            yield process
        self._waiting[option] = process

    def _started(self, option: str) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        words = [f"--git-dir={self._place}", "cat-file", option]
        return git_program.started(words, self._env, None, stdin=True)


@contextlib.contextmanager
def _in_time(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Give a git a limited time for the objects that it is asked for in the block."""
    deadline = git_program.Deadline(process, SOURCES.read_seconds)
    try:
        yield
    finally:
        deadline.cancel()


def _write(process: subprocess.Popen[bytes], names: Sequence[str]) -> None:
    """Write the names to git. Runs in its own thread, because git answers before it has read all names."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        process.stdin.write("".join(f"{name}\n" for name in names).encode("ascii"))
        process.stdin.flush()


def _mark(commit: str) -> str:
    """The file that marks a commit as completely fetched. It is also a git ref, so the objects are never garbage-collected."""
    return f"{_MARKS}/{commit}"


def _config_of(commit: str) -> str:
    text = _CONFIG.format(version=0 if len(commit) == 40 else 1)
    return text if len(commit) == 40 else text + _SHA256


def _make(place: Path, commit: str) -> None:
    """Create the repository, replacing one that does not look exactly as rye creates it."""
    if _is_ours(place, commit):
        return
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)
    place.mkdir(mode=0o700)
    for folder in _FOLDERS:
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "HEAD").write_text(_HEAD, encoding="ascii")
    (place / "config").write_text(_config_of(commit), encoding="ascii")


def _is_ours(place: Path, commit: str) -> bool:
    """Whether the user owns the folder and it has no setting, hook, link or other repository that rye did not create."""
    try:
        status = place.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return False
        if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            return False
        if not {entry.name for entry in os.scandir(place)} <= _TOP:
            return False
        if any((place / folder).is_symlink() for folder in _FOLDERS) or any(os.path.lexists(place / n) for n in _NEVER):
            return False
        return _text(place / "config") == _config_of(commit) and _text(place / "HEAD") == _HEAD
    except OSError:
        return False


def _text(path: Path) -> str:
    """Return a small regular file's text; empty for anything else."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return ""
        return stream.read(_HEADER_BYTES).decode("ascii", "replace")


def _was_cut_off(place: Path) -> bool:
    """Whether an unfinished pack reached the size limit; git itself only reports a failure."""
    try:
        sizes = [
            entry.stat().st_size for entry in os.scandir(place / "objects" / "pack") if entry.name.startswith("tmp_")
        ]
    except OSError:
        return False
    return max(sizes, default=0) >= SOURCES.fetch_bytes


def _sweep(place: Path) -> None:
    """Remove what an interrupted fetch left behind."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(place / "objects" / "pack"):
            if entry.name.startswith("tmp_"):
                os.unlink(entry.path)
    for folder in place.glob("objects/tmp_objdir-*"):
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.unlink(place / "shallow.lock")


def _not_cached(url: str, commit: str) -> SourceError:
    return SourceError(
        "source-incomplete", f"The cache does not have the commit {commit} of {url}.", "`rye install` fetches it again."
    )


def _incomplete(name: str, why: str) -> SourceError:
    return SourceError(
        "source-incomplete",
        f"The cached object {name} is damaged: {why}.",
        "`rye cache clean` empties the cache; the next `rye install` fetches the repository again.",
    )
