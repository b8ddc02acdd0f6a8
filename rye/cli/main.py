"""The program ``rye``: a table of commands, each imported only when it runs, and the one place where errors become exits.

Exit 0: done. 1: failed, or findings. 2: the command's words are wrong. 130: interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click

from rye import __version__
from rye.cli.options import (
    REPEATED,
    Command,
    Session,
    environment_flag,
    global_options,
    take_global_options,
    write_examples,
)
from rye.errors import RyeError, UsageError, extra_missing
from rye.extras import extra_of

COMMANDS: dict[str, tuple[str, str, str]] = {
    # name: (module:attribute, section of the help, one line)
    "new": ("rye.cli.author.new:new", "Author", "Write a new item that conforms, with only what is needed."),
    "validate": ("rye.cli.author.validate:validate", "Author", "Check items against the rules of their format."),
    "sign": ("rye.cli.author.sign:sign", "Author", "Sign items that are valid."),
    "version": ("rye.cli.author.version:version", "Author", "Raise the versions of your items."),
    "lsp": ("rye.cli.editors.lsp:lsp", "Author", "Serve an editor: findings, completion, quick fixes."),
    "migrate": ("rye.cli.author.migrate:migrate", "Author", "Bring items of an older form to today's rules."),
    "agent": ("rye.cli.author.agent:agent", "Author", "Agents: their transition graph, and from YAML to Markdown."),
    "adopt": ("rye.cli.author.adopt:adopt", "Author", "Make skills from anywhere publishable here."),
    "show": ("rye.cli.use.show:show", "Use", "What an item says, read completely."),
    "render": ("rye.cli.use.render:render", "Use", "The prompt that an agent gets."),
    "merge": ("rye.cli.customize.merge:merge", "Customize", "Merge a text with its overrides."),
    "override": ("rye.cli.customize.override:override", "Customize", "Changes to items that survive their upgrades."),
    "overlay": ("rye.cli.customize.overlay:overlay", "Customize", "Changes to single steps of formulas."),
    "role": ("rye.cli.customize.role:role", "Customize", "What operators tell roles beyond their text."),
    "prime": (
        "rye.cli.customize.prime:prime",
        "Customize",
        "The whole prompt of an agent in a role.",
    ),
    "doctor": ("rye.cli.customize.doctor:doctor", "Customize", "Check the set-up and the health of customizations."),
    "hooks": ("rye.cli.trust.hooks:hooks", "Trust", "What directives would have executed, and when."),
    "permissions": (
        "rye.cli.trust.permissions:permissions",
        "Trust",
        "What items may do, and what an update would add.",
    ),
    "facts": (
        "rye.cli.trust.facts:facts",
        "Trust",
        "What items mention: hosts, commands, secrets, downloads that run.",
    ),
    "verify": ("rye.cli.trust.verify:verify", "Trust", "Check the signatures of items."),
    "init": ("rye.cli.project.init:init", "Project", "Make a project."),
    "check": ("rye.cli.project.check:check", "Project", "Check everything here, and end in one line."),
    "import": ("rye.cli.project.importing:import_command", "Project", "Take over what another tool installs."),
    "add": ("rye.cli.project.add:add", "Project", "Add items and install them."),
    "remove": ("rye.cli.project.remove:remove", "Project", "Take items out."),
    "install": ("rye.cli.project.install:install", "Project", "Install what rye.toml asks for."),
    "ci": ("rye.cli.project.install:ci", "Project", "Install exactly rye.lock and check the bytes."),
    "update": ("rye.cli.project.update:update", "Project", "Move items to newer versions."),
    "lock": ("rye.cli.project.lock:lock", "Project", "Choose versions and write rye.lock."),
    "list": ("rye.cli.project.list:list_items", "Project", "What is here, with version, tier and signer."),
    "tree": ("rye.cli.project.tree:tree", "Project", "What depends on what."),
    "why": ("rye.cli.project.tree:why", "Project", "Why an item is installed."),
    "outdated": ("rye.cli.project.outdated:outdated", "Project", "What could be newer."),
    "diff": ("rye.cli.project.diff:diff", "Project", "What differs between versions, edits and overrides."),
    "rollback": ("rye.cli.project.rollback:rollback", "Project", "Return to the lock before the last update."),
    "deploy": ("rye.cli.deploy.deploy:deploy", "Deploy", "Write what is installed where agent programs read it."),
    "undeploy": ("rye.cli.deploy.undeploy:undeploy", "Deploy", "Take deployed files away again."),
    "run": ("rye.cli.runs.run:run", "Run", "Run a directive with a model of your own."),
    "mcp": ("rye.cli.mcp.mcp:mcp", "Run", "Serve items to agent programs, with rights that bind."),
    "runs": ("rye.cli.runs.runs:runs", "Run", "What agents did: the log of each run."),
    "approve": ("rye.cli.runs.approve:approve", "Run", "Agree to one call that waits for a person."),
    "audit": ("rye.cli.trust.audit:audit", "Trust", "What is wrong with what is installed."),
    "sbom": ("rye.cli.project.sbom:sbom", "Project", "A bill of materials (CycloneDX)."),
    "search": ("rye.cli.use.search:search", "Use", "Find items here and in the registry."),
    "info": ("rye.cli.use.info:info", "Use", "Everything about a published item."),
    "publish": ("rye.cli.publish.publish:publish", "Publish", "Publish items as one signed batch."),
    "stage": ("rye.cli.publish.stage:stage", "Publish", "Releases that wait for a maintainer's signature."),
    "yank": ("rye.cli.publish.yank:yank", "Publish", "Take a version back."),
    "unyank": ("rye.cli.publish.yank:unyank", "Publish", "Make a yanked version available again."),
    "deprecate": ("rye.cli.publish.yank:deprecate", "Publish", "Say that an item should no longer be used."),
    "advisory": ("rye.cli.publish.advisory:advisory", "Publish", "Warn of versions with a known fault."),
    "namespace": ("rye.cli.publish.namespace:namespace", "Publish", "Who may publish under a name."),
    "login": ("rye.cli.registry.login:login", "Registry", "Store a token for a registry."),
    "logout": ("rye.cli.registry.login:logout", "Registry", "Forget the token for a registry."),
    "whoami": ("rye.cli.registry.login:whoami", "Registry", "Whose token is used."),
    "registry": ("rye.cli.registry.registry:registry", "Registry", "Registries that you pinned, and one of your own."),
    "log": ("rye.cli.registry.log:log", "Registry", "Audit a registry's log; prove what is in it."),
    "mirror": (
        "rye.cli.registry.mirror:mirror",
        "Registry",
        "Copy a registry to a folder, or what a lock needs to a file.",
    ),
    "cache": ("rye.cli.registry.cache:cache", "Registry", "What was fetched once, for all projects."),
    "completion": ("rye.cli.registry.completion:completion", "Registry", "A completion script for your shell."),
    "config": ("rye.cli.registry.config:config", "Registry", "Your settings."),
    "demo": ("rye.cli.registry.demo:demo", "Registry", "The life of an item, from writing to use, in a minute."),
    "schema": ("rye.cli.editors.schema:print_schema", "Author", "A JSON schema of a file or of what a command prints."),
    "explain": ("rye.cli.use.explain:explain", "Use", "What an error code means, and what to do."),
    "keys": ("rye.cli.trust.keys:keys", "Trust", "Your own signing keys."),
    "trust": ("rye.cli.trust.trust:trust", "Trust", "Whose signatures count."),
    "help": ("rye.cli.help:show_help", "Use", "How a command is used."),
}
_PLAINER = {
    " is not a valid integer range.": " is not a whole number.",
    " is not a valid float range.": " is not a number.",
}
"""How click words a mistake, and how a person says it."""
ALIASES = {"completions": "completion"}
"""Other spellings of a command, which the help does not list."""
_WIDEST = 160
"""Columns of a help page, where the terminal has as many."""


class Families(click.Group):
    """A group whose commands are rows of a table: listing them imports none of them."""

    def __init__(self, table: dict[str, tuple[str, str, str]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.params.extend(global_options(shown=None if self.name == "rye" else REPEATED))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = self.table.get(ALIASES.get(cmd_name, cmd_name) if self.name == "rye" else cmd_name)
        if row is None:
            return None
        module, _, attribute = row[0].partition(":")
        loaded: click.Command = getattr(import_module(module), attribute)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        aliased = self.name == "rye" and args and args[0] in ALIASES
        if args and args[0] not in self.table and not aliased and not args[0].startswith("-"):
            raise unknown_command(args[0], self.table, ctx.command_path)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        take_global_options(ctx)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, (_, section, line) in self.table.items():
            sections.setdefault(section, []).append((name, line))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)


_SYNONYMS = {
    "upgrade": "update",
    "uninstall": "remove",
    "rm": "remove",
    "delete": "remove",
    "i": "install",
    "sync": "install",
    "ls": "list",
    "lint": "validate",
    "create": "new",
    "find": "search",
    "view": "info",
    "unpublish": "yank",
    "explain": "why",
    "freeze": "lock",
}
"""What other package managers call it, for the hint."""

_OTHER_WAYS = {
    "bump": "`rye version bump patch` raises the version of your items.",
    "exec": "`rye run ID` runs a directive; `rye render ID` prints its prompt for the agent.",
}
"""What other package managers have as a command and Rye has not, for the hint."""


def unknown_command(given: str, known: Any, path: str) -> UsageError:
    """The error for a command that does not exist, with the nearest ones that do."""
    import difflib

    near = [_SYNONYMS[given]] if _SYNONYMS.get(given) in known else []
    near = near or difflib.get_close_matches(given, list(known), n=2, cutoff=0.65)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"`{path} --help` lists the commands."
    if path == "rye":
        hint = _OTHER_WAYS.get(given, hint)
    return UsageError("unknown-command", f"There is no command {given!r}.", hint)


def family(name: str, section_help: str, table: dict[str, tuple[str, str]]) -> Families:
    """A group such as ``rye keys``: name → (module:attribute, one line of help)."""
    rows = {sub: (target, "Commands", line) for sub, (target, line) in table.items()}
    return Families(rows, name=name, help=section_help, no_args_is_help=True)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print_version(ctx.ensure_object(Session))
        ctx.exit()


def print_version(session: Session) -> None:
    """``rye --version`` and ``rye version``."""
    if session.json:
        session.console.document({"name": "rye", "version": __version__})
    else:
        click.echo(f"rye {__version__}")


def program() -> Families:
    """The whole command line."""
    group = Families(
        COMMANDS,
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
    """Run the program and exit with its code; what goes wrong is printed as an error, never as a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    session = Session(json="--json" in arguments or environment_flag("RYE_JSON"))
    try:
        code = run(arguments, session)
    except OSError as error:  # not even the error's document could be written
        print(f"error: stdout: {error.strerror or error}.", file=sys.stderr)
        code = 1
    code = _flushed(code)
    gc.disable()  # the process ends: the interpreter need not look for cycles first
    sys.exit(code)


def _open_closed_streams() -> None:
    """A stream that the caller closed (``>&-``) leads nowhere; else the next file opened would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115


def _flushed(code: int) -> int:
    """The exit code once stdout is written out, or given up: a full disk is said already, and the interpreter adds nothing."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code or 1
    return code


def run(arguments: list[str], session: Session) -> int:
    """Run with ``arguments``; returns the exit code."""
    session.arguments = arguments
    if "_RYE_COMPLETE" in os.environ:
        from rye.cli.completing.answer import answer

        return answer(os.environ["_RYE_COMPLETE"])
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
        path = error.ctx.command_path if error.ctx else "rye"
        message = " ".join(error.format_message().split())
        for theirs, ours in _PLAINER.items():
            message = message.replace(theirs, ours)
        session.console.error(UsageError("usage", message, f"`{path} --help` shows how it is used."))
        return 2
    except (click.Abort, KeyboardInterrupt):
        session.console.error(RyeError("interrupted", "Interrupted; nothing more was done."))
        return 130
    except BrokenPipeError:
        # The reader went away (`rye list | head`): not an error of ours; keep the interpreter from complaining at exit.
        sys.stdout = None
        return 0
    except click.ClickException as error:
        session.console.error(RyeError("failed", error.format_message()))
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        session.console.error(RyeError("system", f"{error.strerror or error}{where}."))
        return 1
    except Exception as error:  # the last resort: a person never sees a traceback unless they ask for it
        if environment_flag("RYE_TRACEBACK"):
            raise
        if isinstance(error, ModuleNotFoundError) and (of := extra_of(error.name)) is not None:
            missing = extra_missing(*of)
            session.console.error(missing)
            return missing.exit_code
        session.console.error(
            RyeError(
                "internal",
                f"Something inside rye went wrong: {type(error).__name__}: {error}",
                "Run again with RYE_TRACEBACK=1 and report what it prints.",
            )
        )
        return 1


__all__ = ["Command", "family", "main", "program", "run"]
