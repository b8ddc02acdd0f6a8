"""The options that every command takes, before or after its name, and the session that they make (DESIGN §9).

Precedence: flag, then ``RYE_…`` variable, then the project's ``rye.toml``, then the user's configuration file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rye.cli.console import Console
from rye.errors import RyeError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from rye.cli.console import Advance


class Session:
    """What one run of the program was told. Made by :func:`main`, filled from the options wherever they stand."""

    def __init__(self, json: bool = False) -> None:
        self.started = time.time()
        self.arguments: Sequence[str] = ()
        """The words after the program's name."""
        self.json = json
        self.quiet = False
        self.verbose = 0
        self.color = "auto"
        self.show_progress = True
        self.directory: Path | None = None
        self.registry: str | None = None
        self.yes = False
        self.no_input = False
        self.offline = False
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """Where to print; made at first use, when all options are known."""
        if self._console is None:
            self._console = Console(
                json=self.json, quiet=self.quiet, verbose=self.verbose, color=self.color, progress=self.show_progress
            )
        return self._console

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked: a terminal on both ends, and nobody said otherwise."""
        return not self.no_input and not self.json and self.console.is_interactive

    @property
    def cwd(self) -> Path:
        """The folder to work in: ``-C`` or where the program was started."""
        from pathlib import Path

        return self.directory or Path.cwd()

    def path(self, given: str | Path) -> Path:
        """A path as the person means it: below ``-C`` when that is given."""
        from pathlib import Path

        return self.directory / given if self.directory is not None else Path(given)

    # -- rye.workspace.context.Context ---------------------------------------------------------------------------------

    @property
    def assume_yes(self) -> bool:
        """``--yes``."""
        return self.yes

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables."""
        return os.environ

    def now(self) -> datetime:
        """The machine's clock, UTC."""
        from datetime import UTC, datetime

        return datetime.now(UTC)

    def ask(self, question: str) -> bool:
        """A person's yes or no."""
        return self.console.confirm(question)

    def tell(self, text: str, style: str | None = None) -> None:
        """On stderr; silent with ``--quiet`` and ``--json``."""
        self.console.say(text, style)

    def warn(self, text: str, hint: str | None = None) -> None:
        """On stderr, also with ``--quiet``."""
        self.console.warn(text, hint)

    def progress(self, title: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """A bar on a terminal, after a second."""
        return self.console.progress(title, total)


def _enter(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Path | None:
    if value is None:
        return None
    from pathlib import Path

    path = Path(value)
    if not path.is_dir():
        raise RyeError("no-such-folder", f"There is no folder {value!r}.", "Give an existing folder to -C.")
    return path


REPEATED = frozenset({"json", "yes"})
"""The global options that every command's page shows; `rye --help` shows all."""


def global_options(shown: frozenset[str] | None = REPEATED) -> list[click.Option]:
    """Fresh options for one command; each has no default, so that only what is given changes the session.

    ``shown``: the names of those that its help lists; None: all.
    """
    made = _global_options()
    for option in made:
        option.hidden = shown is not None and option.name not in shown
    return made


def _global_options() -> list[click.Option]:
    option = click.Option
    return [
        option(["-q", "--quiet"], is_flag=True, default=None, help="Print less: no progress, no notices."),
        option(["-v", "--verbose"], count=True, default=None, help="Print more; twice for details."),
        option(["--json"], is_flag=True, default=None, envvar="RYE_JSON", help="Print exactly one JSON document."),
        option(
            ["--color"], type=click.Choice(["auto", "always", "never"]), envvar="RYE_COLOR", help="Colour the output."
        ),
        option(["--no-progress"], is_flag=True, default=None, envvar="RYE_NO_PROGRESS", help="Show no progress bars."),
        option(["-C", "--directory"], callback=_enter, metavar="DIR", help="Work in DIR instead of here."),
        option(["--registry"], metavar="URL", envvar="RYE_REGISTRY", help="Use this registry (https://, file://)."),
        option(["-y", "--yes"], is_flag=True, default=None, help="Answer yes to questions (never to a wider right)."),
        option(
            ["--no-input"],
            is_flag=True,
            default=None,
            envvar="RYE_NO_INPUT",
            help="Never ask; fail where a yes is needed.",
        ),
        option(["--offline"], is_flag=True, default=None, envvar="RYE_OFFLINE", help="Use no network."),
    ]


_NAMES = ("quiet", "verbose", "json", "color", "no_progress", "directory", "registry", "yes", "no_input", "offline")


def take_global_options(ctx: click.Context) -> None:
    """Move what was given of the global options from the command's parameters to the session."""
    session = ctx.ensure_object(Session)
    if ctx.parent is None:
        _take_user_settings(session)
    for name in _NAMES:
        value = ctx.params.pop(name, None)
        if value is None or (name == "verbose" and not value):
            continue
        if name == "no_progress":
            session.show_progress = session.show_progress and not value
        else:
            setattr(session, name, value)


def _take_user_settings(session: Session) -> None:
    """What the user's configuration file says, before anything that goes before it."""
    from rye.project.user_config import config_path, read_settings

    if config_path().exists():
        settings = read_settings()
        session.color = settings.get("color", session.color)
        session.show_progress = settings.get("progress", session.show_progress)
        session.offline = settings.get("offline", session.offline)


class Command(click.Command):
    """A command that takes the global options, too. Use through :func:`command`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = {name for parameter in self.params for name in parameter.opts}
        self.params.extend(o for o in global_options() if not own.intersection(o.opts))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        take_global_options(ctx)
        _undo_interrupted(ctx.ensure_object(Session))
        return super().invoke(ctx)


def write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """The end of a command's help: how people use it, and where the other options are."""
    from rye.cli.examples import EXAMPLES  # only help shows them

    lines = EXAMPLES.get(ctx.command_path.partition(" ")[2], ())
    if lines:
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")
    if ctx.parent is not None:
        formatter.write("\n`rye --help` lists the options that every command takes.\n")


def _undo_interrupted(session: Session) -> None:
    """Whatever command comes first after a crash finds the project as it was before, also one that only looks."""
    folder = os.path.abspath(session.cwd)
    while not any(os.path.exists(f"{folder}/{name}") for name in ("rye.toml", ".ai")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return
    if not os.path.exists(f"{folder}/.ai/.rye/journal"):
        return
    from pathlib import Path

    from rye.workspace.installing.interrupted import undo_interrupted

    try:
        undo_interrupted(Path(folder))
        session.console.say("undid an installation that was interrupted")
    except RyeError as error:  # a command that writes says it again, as its own error
        session.console.warn(error.message)


def command(name: str | None = None, **kwargs: Any) -> Callable[[Callable[..., Any]], Command]:
    """Decorator: a command of rye. Its function gets the session with ``@click.pass_obj``."""
    return click.command(name, cls=Command, **kwargs)


def environment_flag(name: str) -> bool:
    """Whether an environment variable is set to something other than nothing, 0, false or no."""
    return os.environ.get(name, "").lower() not in ("", "0", "false", "no")
