"""The options that every command accepts, before or after its name, and the session built from them (DESIGN §9).

Precedence: flag, then ``RYE_…`` variable, then the project's ``rye.toml``, then the user's configuration file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rye import deprecations
from rye.cli.console import Console
from rye.errors import RyeError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from rye.cli.console import Advance
    from rye.storage.home import Home


class Session:
    """The options of one run. Created by :func:`main`, filled from options before or after the command's name."""

    def __init__(self, json: bool = False, environment: Mapping[str, str] = os.environ) -> None:
        self.environment = environment
        """The environment variables. The command line reads them here only."""
        self.started = time.time()
        self.arguments: Sequence[str] = ()
        """The words after the program's name."""
        self.json = json or self.flag("RYE_JSON")
        self.quiet = False
        self.verbose = 0
        self.color = "auto"
        self.show_progress = True
        self.directory: Path | None = None
        self.registry: str | None = None
        self.yes = False
        self.no_input = False
        self.trust_lock = False
        self.offline = False
        self.warned = False
        """Whether a warning was printed that the next run must print as well."""
        self._console: Console | None = None
        self._home: Home | None = None

    @property
    def console(self) -> Console:
        """The console; created at first use, when all options are known."""
        if self._console is None:
            self._console = Console(
                json=self.json,
                quiet=self.quiet,
                verbose=self.verbose,
                color=self.color,
                progress=self.show_progress,
                environment=self.environment,
            )
        return self._console

    def flag(self, variable: str) -> bool:
        """Whether an environment variable is set to anything but an empty value, 0, false or no."""
        return self.environment.get(variable, "").lower() not in ("", "0", "false", "no")

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked: a terminal on both ends, and no option forbids it."""
        return not self.no_input and not self.json and self.console.is_interactive

    @property
    def cwd(self) -> Path:
        """The folder to work in: ``-C``, or where the program was started."""
        from pathlib import Path

        return self.directory or Path.cwd()

    def path(self, given: str | Path) -> Path:
        """A path that the person gave, relative to ``-C`` if that is given."""
        from pathlib import Path

        return self.directory / given if self.directory is not None else Path(given)

    # -- rye.workspace.context.Context ---------------------------------------------------------------------------------

    @property
    def assume_yes(self) -> bool:
        """Whether ``--yes`` was given."""
        return self.yes

    @property
    def home(self) -> Home:
        """The folders of the user who runs the program."""
        if self._home is None:
            from rye.storage.home import Home

            self._home = Home.from_environment(self.environment)
        return self._home

    def now(self) -> datetime:
        """The machine's clock, UTC."""
        from datetime import UTC, datetime

        return datetime.now(UTC)

    def ask(self, question: str) -> bool:
        """Ask a yes-or-no question on the terminal."""
        return self.console.confirm(question)

    def tell(self, text: str, style: str | None = None, *, always: bool = False) -> None:
        """Print a notice on stderr; silent with ``--quiet`` and ``--json``, unless ``always``."""
        self.console.say(text, style, always=always)

    def warn(self, text: str, hint: str | None = None) -> None:
        """Print a warning on stderr, even with ``--quiet``."""
        self.console.warn(text, hint)

    def progress(self, title: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """A progress bar, on a terminal only, after a second."""
        return self.console.progress(title, total)


def _enter(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Path | None:
    if value is None:
        return None
    from pathlib import Path

    path = Path(value)
    if not path.is_dir():
        raise RyeError("no-such-folder", f"The folder {value!r} does not exist.", "Give an existing folder to -C.")
    return path


REPEATED = frozenset({"json", "yes"})
"""The global options on every command's help page; `rye --help` shows all."""


def global_options(shown: frozenset[str] | None = REPEATED) -> list[click.Option]:
    """New options for one command. None has a default, so that only given options change the session.

    ``shown``: the names that the help lists; None lists all.
    """
    made = _global_options()
    for option in made:
        option.hidden = shown is not None and option.name not in shown
    return made


def _global_options() -> list[click.Option]:
    option = click.Option
    return [
        option(["-q", "--quiet"], is_flag=True, default=None, help="Print less: no progress, no notices."),
        option(["-v", "--verbose"], count=True, default=None, help="Print more; -vv for details."),
        option(["--json"], is_flag=True, default=None, envvar="RYE_JSON", help="Print exactly one JSON document."),
        option(
            ["--color"], type=click.Choice(["auto", "always", "never"]), envvar="RYE_COLOR", help="Colour the output."
        ),
        option(["--no-progress"], is_flag=True, default=None, envvar="RYE_NO_PROGRESS", help="Show no progress bars."),
        option(["-C", "--directory"], callback=_enter, metavar="DIR", help="Run as if started in DIR."),
        option(["--registry"], metavar="URL", envvar="RYE_REGISTRY", help="Use this registry (https://, file://)."),
        option(
            ["-y", "--yes"],
            is_flag=True,
            default=None,
            help="Yes, also to all rights of items you name. Not to what an update adds, to alarms, lost changes (--approve) "
            "or a new registry (--fingerprint).",
        ),
        option(
            ["--no-input"],
            is_flag=True,
            default=None,
            envvar="RYE_NO_INPUT",
            help="Never ask; fail where an answer is needed.",
        ),
        option(["--offline"], is_flag=True, default=None, envvar="RYE_OFFLINE", help="Use no network."),
        option(
            ["--trust-lock"],
            is_flag=True,
            default=None,
            help="Accept what rye.lock approves in this run; any committer can write it. Or RYE_TRUST_LOCK=1.",
        ),
    ]


_NAMES = (
    "quiet",
    "verbose",
    "json",
    "color",
    "no_progress",
    "directory",
    "registry",
    "yes",
    "no_input",
    "offline",
    "trust_lock",
)


def take_global_options(ctx: click.Context) -> None:
    """Move the given global options from the command's parameters to the session."""
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
    """Apply the user's configuration file first; everything else overrides it."""
    if not session.home.settings_file.exists():
        return
    from rye.project.user_config import read_settings

    if settings := read_settings(session.home):
        session.color = settings.get("color", session.color)
        session.show_progress = settings.get("progress", session.show_progress)
        session.offline = settings.get("offline", session.offline)


class WithHelp(click.Command):
    """A command whose ``--help`` has its text from here: click's asks gettext for it in every run, which imports ``locale``."""

    _own_help: click.Option | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; an error about an option without its value also knows the command, whose help the hint names."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option, always the same one: click compares parameters by identity."""
        names = self.get_help_option_names(ctx)
        if not names or not self.add_help_option:
            return None
        if self._own_help is None:
            self._own_help = click.Option(
                [*names, "_shown_help"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_show_help,
                help="Show this message and exit.",
            )
        return self._own_help


def _show_help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Command(WithHelp):
    """A command that also accepts the global options. Create it with :func:`command`."""

    def __init__(self, *args: Any, listed: tuple[str, Sequence[tuple[str, str]]] = ("", ()), **kwargs: Any) -> None:
        """``listed``: a title and rows of term and meaning, which the help shows below its text."""
        super().__init__(*args, **kwargs)
        self.listed = listed
        own = {name for parameter in self.params for name in parameter.opts}
        self.params.extend(o for o in global_options() if not own.intersection(o.opts))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text, and then the table if the command has one."""
        super().format_help_text(ctx, formatter)
        title, rows = self.listed
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Apply the global options, undo an interrupted installation, sweep an interrupted tool's files, then run."""
        take_global_options(ctx)
        if deprecations.DEPRECATED:
            _warn_of_deprecated(ctx, ctx.ensure_object(Session))
        _undo_interrupted(ctx.ensure_object(Session))
        _sweep_interrupted(ctx.ensure_object(Session), ctx.command_path)
        _require_policies(ctx.ensure_object(Session), ctx.command_path)
        return super().invoke(ctx)


def write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the end of a command's help: examples, and where to find the global options."""
    from rye.cli.examples import EXAMPLES  # needed only for help

    lines = EXAMPLES.get(ctx.command_path.partition(" ")[2], ())
    if lines:
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")
    if ctx.parent is not None:
        formatter.write("\n`rye --help` lists the options that every command accepts.\n")


def _warn_of_deprecated(ctx: click.Context, session: Session) -> None:
    """One warning for each row of the table that this run uses; what the command does stays the same."""
    from rye.workspace.installing.project_state import manifest_keys  # only while something is deprecated

    def keys(_file: str) -> Mapping[str, object]:
        return manifest_keys(session.cwd)

    rows = deprecations.DEPRECATED
    for row in deprecations.used(rows, ctx.command_path, session.arguments, session.environment, keys):
        session.warn(row.message, row.instead)
        session.warned = True


def _undo_interrupted(session: Session) -> None:
    """Restore the project after a crash, before any command, even one that only reads."""
    folder = os.path.abspath(session.cwd)
    while not any(os.path.exists(f"{folder}/{name}") for name in ("rye.toml", ".ai")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return
    if not os.path.exists(f"{folder}/.ai/.rye/journal"):
        return
    from pathlib import Path

    from rye.workspace.installing.project_state import undo_interrupted

    try:
        undo_interrupted(Path(folder))
        session.console.say("Undid an interrupted installation.")
    except RyeError as error:  # a command that writes raises it again, as its own error
        session.console.warn(error.message)


STOPS = frozenset(
    (
        *("add", "install", "ci", "update", "lock", "remove", "rollback", "import"),  # what gets to agents: installs
        *("render", "prime", "merge", "show"),  # renders
        *("deploy", "mcp", "run", "approve", "hooks"),  # deploys, serves and runs
        *("fork", "adopt"),  # make an own item of one from elsewhere
        *("audit", "outdated"),  # judge by the policy
        "demo",
    )
)
"""The commands that need the policy of each joined organization in force (:mod:`rye.project.organizations`). All others only
look, write, sign, publish or mend, and go on."""


def _require_policies(session: Session, command_path: str) -> None:
    """Stop a command of the table if a policy expired and no newer one can be had. Raises RyeError ``policy-…``, ``bad-org``."""
    if command_path.split()[1] not in STOPS:
        return
    if session.home.has_organizations():
        from rye.workspace.registries.joining import require_policies  # only for who joined an organization

        require_policies(session)


_EXPLAINING = frozenset({"rye explain", "rye doctor", "rye version", "rye help", "rye runs"})
"""Commands that hand out nothing, and work whatever a tool left."""


def _sweep_interrupted(session: Session, command_path: str) -> None:
    """Sweep what a tool left when Rye was killed, before any command. Raises RyeError ``journal-damaged``, ``in-use``."""
    if not session.home.has_calls():
        return
    from rye.runtime.sandbox.journal import sweep_interrupted  # only while a tool runs, or after one that was not swept

    try:
        sweep_interrupted(session.home, session.cwd, session.console.warn)
    except RyeError as error:
        if " ".join(command_path.split()[:2]) not in _EXPLAINING:
            raise
        session.console.warn(error.message, error.hint)


def command(name: str | None = None, **kwargs: Any) -> Callable[[Callable[..., Any]], Command]:
    """Decorator: a command of rye. Its function receives the session through ``@click.pass_obj``."""
    return click.command(name, cls=Command, **kwargs)
