"""The program ``rye``: a table of commands, each imported only when it runs, and the one place that turns errors into exit codes.

Exit 0: done. 1: failed, or findings. 2: wrong usage. 130: interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

import click

from rye import __version__
from rye.cli.options import (
    REPEATED,
    Command,
    Session,
    WithHelp,
    global_options,
    take_global_options,
    write_examples,
)
from rye.errors import RyeError, UsageError
from rye.extras import extra_missing, extra_of

COMMANDS: dict[str, tuple[str, str, str]] = {
    # name: (module:attribute, section of the help, one line)
    "new": ("rye.cli.author.new:new", "Author", "Write a new, minimal, valid item."),
    "validate": ("rye.cli.author.validate:validate", "Author", "Check items against the rules of their formats."),
    "sign": ("rye.cli.author.sign:sign", "Author", "Sign valid items."),
    "version": ("rye.cli.author.version:version", "Author", "Raise the versions of your items."),
    "lsp": ("rye.cli.editors.lsp:lsp", "Author", "Run a language server: findings, completion, quick fixes."),
    "migrate": ("rye.cli.author.migrate:migrate", "Author", "Bring items in an older format up to date."),
    "agent": ("rye.cli.author.agent:agent", "Author", "Graph agents, or rewrite them as Markdown."),
    "fork": ("rye.cli.author.fork:fork", "Author", "Make an installed item your own, and remember its origin."),
    "adopt": ("rye.cli.author.adopt:adopt", "Author", "Make skills from anywhere publishable here."),
    "show": ("rye.cli.use.show:show", "Use", "Show an item, fully parsed."),
    "render": ("rye.cli.use.render:render", "Use", "Print the prompt that an agent gets."),
    "merge": ("rye.cli.customize.merge:merge", "Customize", "Merge a text with its overrides."),
    "override": ("rye.cli.customize.override:override", "Customize", "Change items in a way that survives updates."),
    "overlay": ("rye.cli.customize.overlay:overlay", "Customize", "Change single steps of formulas."),
    "role": ("rye.cli.customize.role:role", "Customize", "Add instructions to roles."),
    "prime": (
        "rye.cli.customize.prime:prime",
        "Customize",
        "Print the whole prompt of an agent in a role.",
    ),
    "doctor": ("rye.cli.customize.doctor:doctor", "Customize", "Check the setup and the health of customizations."),
    "hooks": ("rye.cli.trust.hooks:hooks", "Trust", "Show and approve the actions that directives trigger."),
    "permissions": (
        "rye.cli.trust.permissions:permissions",
        "Trust",
        "Show what items may do, and what an update would add.",
    ),
    "facts": (
        "rye.cli.trust.facts:facts",
        "Trust",
        "List what items mention: hosts, commands, secrets, downloads that run.",
    ),
    "verify": ("rye.cli.trust.verify:verify", "Trust", "Check the signatures of items."),
    "init": ("rye.cli.project.init:init", "Project", "Create a project."),
    "check": ("rye.cli.project.check:check", "Project", "Check everything in this project."),
    "import": ("rye.cli.project.importing:import_command", "Project", "Import what another tool installs."),
    "add": ("rye.cli.project.add:add", "Project", "Add items and install them."),
    "remove": ("rye.cli.project.remove:remove", "Project", "Remove items."),
    "install": ("rye.cli.project.install:install", "Project", "Install what rye.toml asks for."),
    "ci": ("rye.cli.project.install:ci", "Project", "Install exactly what rye.lock says, and check the bytes."),
    "update": ("rye.cli.project.update:update", "Project", "Move items to newer versions."),
    "lock": ("rye.cli.project.lock:lock", "Project", "Choose versions and write rye.lock."),
    "list": ("rye.cli.project.list:list_items", "Project", "List items with version, tier and signer."),
    "tree": ("rye.cli.project.tree:tree", "Project", "Show the tree of dependencies."),
    "why": ("rye.cli.project.tree:why", "Project", "Show why an item is installed."),
    "outdated": ("rye.cli.project.outdated:outdated", "Project", "List items that have newer versions."),
    "diff": ("rye.cli.project.diff:diff", "Project", "Show differences between versions, edits and overrides."),
    "rollback": ("rye.cli.project.rollback:rollback", "Project", "Return to the lock before the last update."),
    "deploy": ("rye.cli.deploy.deploy:deploy", "Deploy", "Write installed items where agent programs read them."),
    "undeploy": ("rye.cli.deploy.undeploy:undeploy", "Deploy", "Remove deployed files."),
    "run": ("rye.cli.runs.run:run", "Run", "Run a directive with your own model."),
    "mcp": ("rye.cli.mcp.mcp:mcp", "Run", "Serve items to agent programs, and enforce their rights."),
    "runs": ("rye.cli.runs.runs:runs", "Run", "Show what agents did: the log of each run."),
    "usage": ("rye.cli.runs.usage:usage", "Run", "Show how often each item was used here."),
    "approve": ("rye.cli.runs.approve:approve", "Run", "Approve one call that waits for a person."),
    "audit": ("rye.cli.trust.audit:audit", "Trust", "Check installed items for problems."),
    "sbom": ("rye.cli.project.sbom:sbom", "Project", "Write a bill of materials (CycloneDX or SPDX)."),
    "search": ("rye.cli.use.search:search", "Use", "Find items here and in registries."),
    "info": ("rye.cli.use.info:info", "Use", "Show everything about a published item."),
    "publish": ("rye.cli.publish.publish:publish", "Publish", "Publish items as one signed batch."),
    "stage": ("rye.cli.publish.stage:stage", "Publish", "Review releases that wait for a maintainer's signature."),
    "yank": ("rye.cli.publish.yank:yank", "Publish", "Withdraw a version."),
    "unyank": ("rye.cli.publish.yank:unyank", "Publish", "Make a yanked version available again."),
    "deprecate": ("rye.cli.publish.yank:deprecate", "Publish", "Mark an item as no longer recommended."),
    "advisory": ("rye.cli.publish.advisory:advisory", "Publish", "Warn about versions with a known fault."),
    "namespace": ("rye.cli.publish.namespace:namespace", "Publish", "Manage who may publish under a name."),
    "login": ("rye.cli.registry.login:login", "Registry", "Store a token for a registry."),
    "logout": ("rye.cli.registry.login:logout", "Registry", "Forget the token for a registry."),
    "whoami": ("rye.cli.registry.login:whoami", "Registry", "Show whose token is used."),
    "registry": ("rye.cli.registry.registry:registry", "Registry", "Pin registries, or run your own."),
    "org": ("rye.cli.registry.org:org", "Registry", "Follow the policy of your organization."),
    "log": ("rye.cli.registry.log:log", "Registry", "Audit a registry's log; prove what is in it."),
    "witness": ("rye.cli.registry.witness:witness", "Registry", "Run a witness, which cosigns logs that only grow."),
    "mirror": (
        "rye.cli.registry.mirror:mirror",
        "Registry",
        "Copy a registry to a folder, or what a lock needs to a file.",
    ),
    "cache": ("rye.cli.registry.cache:cache", "Registry", "Manage the cache that your projects share."),
    "completion": ("rye.cli.registry.completion:completion", "Registry", "Print a completion script for your shell."),
    "config": ("rye.cli.registry.config:config", "Registry", "Show or change your settings."),
    "demo": ("rye.cli.registry.demo:demo", "Registry", "See an item's whole life, from writing to use, in a minute."),
    "schema": (
        "rye.cli.editors.schema:print_schema",
        "Author",
        "Print the JSON schema of a file or of a command's output.",
    ),
    "explain": ("rye.cli.use.explain:explain", "Use", "Explain an error code, and what to do."),
    "keys": ("rye.cli.trust.keys:keys", "Trust", "Manage your own signing keys."),
    "trust": ("rye.cli.trust.trust:trust", "Trust", "Manage whose signatures you trust."),
    "self": ("rye.cli.trust.self_check:self_command", "Trust", "Check this program itself."),
    "help": ("rye.cli.help:show_help", "Use", "Show how to use a command."),
}
DAILY: dict[str, tuple[str, ...]] = {
    "Install": ("init", "add", "remove", "install", "update"),
    "Look": ("list", "info", "diff", "search"),
    "Use and check": ("deploy", "ci", "check", "audit"),
    "Write your own": ("new", "validate", "sign", "publish"),
}
"""The commands on the first help page, by group."""
_PLAINER = {
    " is not a valid integer range.": " is not a whole number.",
    " is not a valid float range.": " is not a number.",
}
"""Click's wording of a mistake, and a plainer one."""
ALIASES = {"completions": "completion"}
"""Other spellings of a command, not listed in the help."""
_WIDEST = 100
"""The widest help page, in columns: longer lines are hard to read."""


class Families(WithHelp, click.Group):
    """A group whose commands are rows of a table, so that listing them imports none of them."""

    def __init__(
        self, table: dict[str, tuple[str, str, str]], first: dict[str, tuple[str, ...]] | None = None, **kwargs: Any
    ) -> None:
        """``first``: the commands that the help lists, by group; None lists all."""
        super().__init__(**kwargs)
        self.table = table
        self.first = first
        self.params.extend(global_options(shown=None if self.name == "rye" else REPEATED))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name or alias, imported now; None if the table has no such row."""
        row = self.table.get(ALIASES.get(cmd_name, cmd_name) if self.name == "rye" else cmd_name)
        if row is None:
            return None
        module, _, attribute = row[0].partition(":")
        loaded: click.Command = getattr(import_module(module), attribute)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, but an unknown command raises :func:`unknown_command`."""
        aliased = self.name == "rye" and args and args[0] in ALIASES
        if args and args[0] not in self.table and not aliased and not args[0].startswith("-"):
            raise unknown_command(args[0], self.table, ctx.command_path)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Apply the global options, then run."""
        take_global_options(ctx)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section, and how to see the rest."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, (_, section, line) in self.table.items():
            if self.first is None:
                sections.setdefault(section, []).append((name, line))
        for section, names in (self.first or {}).items():
            sections[section] = [(name, self.table[name][2]) for name in names]
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)
        if self.first is not None:
            formatter.write(f"\n`rye help --all` lists all {len(self.table)} commands.\n")
            formatter.write("`rye help WORDS` searches commands, errors and pages.\n")


SYNONYMS = {
    "upgrade": "update",
    "up": "update",
    "uninstall": "remove",
    "rm": "remove",
    "delete": "remove",
    "i": "install",
    "sync": "install",
    "fetch": "install",
    "ls": "list",
    "lint": "validate",
    "create": "new",
    "find": "search",
    "view": "info",
    "unpublish": "yank",
    "explain": "why",
    "freeze": "lock",
}
"""What other package managers call a command, for the hint."""

_OTHER_WAYS = {
    "bump": "`rye version bump patch` raises the version of your items.",
    "link": "`rye add FOLDER NAME --editable` uses an item where it is, so that you see each edit at once.",
    "status": "`rye check` checks everything in this project; `rye list` lists its items.",
    "exec": "`rye run ID` runs a directive; `rye render ID` prints its prompt for the agent.",
}
"""Commands of other package managers that Rye does not have, for the hint."""

_OTHER_WORDS = {
    ("rye audit", "fix"): "`rye audit` changes nothing; `rye update` moves items to newer versions.",
}
"""What other package managers let people write after a command, for the hint."""


def unknown_command(given: str, known: Any, path: str) -> UsageError:
    """The error for an unknown command, with the nearest existing ones."""
    import difflib

    near = [SYNONYMS[given]] if SYNONYMS.get(given) in known else []
    near = near or difflib.get_close_matches(given, list(known), n=2, cutoff=0.65)
    all_listed = f"`{'rye help --all' if path == 'rye' else path + ' --help'}` lists all commands."
    if not near and "/" in given and "show" in known:
        all_listed = f"`{path} show {given}` shows those of an item. `{path} --help` lists all commands."
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else all_listed
    if path == "rye":
        hint = _OTHER_WAYS.get(given, hint)
    return UsageError("unknown-command", f"Unknown command {given!r}.", hint)


def family(name: str, section_help: str, table: dict[str, tuple[str, str]]) -> Families:
    """A group such as ``rye keys``. ``table``: name → (module:attribute, one line of help)."""
    rows = {sub: (target, "Commands", line) for sub, (target, line) in table.items()}
    return Families(rows, name=name, help=section_help, no_args_is_help=True)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print_version(ctx.ensure_object(Session))
        ctx.exit()


def _after_failing(error: OSError) -> str | None:
    """What helps when the system refuses a file."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space, and run the command again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR) and error.filename:
        return (
            "Check that the folder is there and that you may write to it. RYE_CONFIG_DIR, RYE_DATA_DIR and RYE_CACHE_DIR name "
            "other folders for what Rye keeps outside of the project."
        )
    return None


def print_version(session: Session) -> None:
    """Print the version, for ``rye --version`` and ``rye version``."""
    if session.json:
        session.console.document({"name": "rye", "version": __version__})
    else:
        click.echo(f"rye {__version__}")


@cache
def program() -> Families:
    """The whole command line. Made once, for those who run several commands in one process."""
    group = Families(
        COMMANDS,
        DAILY,
        name="rye",
        help="Package manager and verifiable registry for the text that steers software agents.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST},
    )
    group.params.insert(
        0,
        click.Option(
            ["-V", "--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Print the version.",
        ),
    )
    return group


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit with its code. Failures are printed as errors, never as tracebacks."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    session = Session(json="--json" in arguments)
    try:
        code = run(arguments, session)
    except OSError as error:  # not even the error's document could be written
        print(f"error: stdout: {error.strerror or error}.", file=sys.stderr)
        code = 1
    code = _flushed(code)
    gc.freeze()  # the process is ending: the interpreter need not look for cycles in what is left
    sys.exit(code)


def _open_closed_streams() -> None:
    """Open ``/dev/null`` for each stream that the caller closed (``>&-``); otherwise the next file opened gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115


def _flushed(code: int) -> int:
    """Flush stdout, or give it up, so that the interpreter adds no error of its own about a full disk. The exit code."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code or 1
    return code


def _is_near(wrong: str, name: str) -> bool:
    """Whether a person may have meant the option ``name``: it begins alike, or looks alike."""
    import difflib

    begun, whole = sorted((wrong.lstrip("-"), name.lstrip("-")), key=len)
    return (len(begun) > 1 and whole.startswith(begun)) or difflib.SequenceMatcher(None, begun, whole).ratio() >= 0.65


def _wrong_words(error: click.UsageError) -> UsageError:
    """Click's error about the command's words, as ours. What is near an unknown option is in the hint, as for commands."""
    path = error.ctx.command_path if error.ctx else "rye"
    hint = f"`{path} --help` shows how it is used."
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        wrong = error.option_name
        near = [repr(name) for name in error.possibilities or [] if _is_near(wrong, name)][:2]
        message, hint = error.message, f"Did you mean {' or '.join(near)}? {hint}" if near else hint
    elif isinstance(error, click.MissingParameter):
        from rye.cli.examples import EXAMPLES  # needed for help and this error only

        example = EXAMPLES.get(path.partition(" ")[2], ())[:1]
        hint = f"For example: `{example[0]}`. {hint}" if example else hint
    elif message.startswith("Got unexpected extra argument"):
        extra = message.partition("(")[2].removesuffix(")")
        message = f"Unexpected argument: {extra}."
        takes_name = error.ctx is not None and any("--name" in param.opts for param in error.ctx.command.params)
        hint = f"Did you mean `{path} --name {extra}`? {hint}" if takes_name and extra.isidentifier() else hint
        hint = _OTHER_WORDS.get((path, extra), hint)
    message = " ".join(message.split())
    for theirs, ours in _PLAINER.items():
        message = message.replace(theirs, ours)
    return UsageError("usage", message, hint)


def run(arguments: list[str], session: Session) -> int:
    """Run with ``arguments``; returns the exit code."""
    session.arguments = arguments
    if "_RYE_COMPLETE" in session.environment:
        from rye.cli.completing.answer import answer

        return answer(session.environment["_RYE_COMPLETE"], session.environment)
    try:
        result = program().main(args=arguments, prog_name="rye", standalone_mode=False, obj=session)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.ctx.get_help() if shown.ctx else "", err=True)
        return 2
    except RyeError as error:
        session.console.error(error)
        return error.exit_code
    except click.UsageError as error:
        session.console.error(_wrong_words(error))
        return 2
    except (click.Abort, KeyboardInterrupt):
        session.console.gap()  # the terminal shows ^C where the cursor was
        session.console.error(RyeError("interrupted", "Interrupted. Nothing more was done."))
        return 130
    except BrokenPipeError:
        # The reader went away (`rye list | head`). Not our error; keep the interpreter from complaining at exit.
        sys.stdout = None
        return 0
    except click.ClickException as error:
        session.console.error(RyeError("failed", error.format_message()))
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        session.console.error(RyeError("system", f"{error.strerror or error}{where}.", _after_failing(error)))
        return 1
    except Exception as error:  # the last resort: a person never sees a traceback unless they ask for it
        if session.flag("RYE_TRACEBACK"):
            raise
        if isinstance(error, ModuleNotFoundError) and (of := extra_of(error.name)) is not None:
            missing = extra_missing(*of)
            session.console.error(missing)
            return missing.exit_code
        session.console.error(
            RyeError(
                "internal",
                f"Internal error in rye: {type(error).__name__}: {error}",
                "Run the command again with RYE_TRACEBACK=1, and report its output.",
            )
        )
        return 1


__all__ = ["Command", "family", "main", "program", "run"]
