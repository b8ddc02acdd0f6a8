"""``rye login``, ``logout``, ``whoami``: a token for a registry's API. Reading needs none."""

from __future__ import annotations

import sys

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.cli.use.browser import open_page
from rye.errors import UsageError
from rye.workspace.registries.device_login import BrowserPrompt, token_from_browser
from rye.workspace.registries.logins import Login, LoginRequest, log_in, log_out, who_am_i


def _token(session: Session, given: str | None, address: str) -> str:
    """The given token, or one that a person confirms in a browser."""
    is_given = given is not None
    if given == "-":
        given = _prompt_for_token() if sys.stdin.isatty() else sys.stdin.readline().strip()
    given = (given or session.environment.get("RYE_TOKEN") or "").strip()
    if not given and not is_given and not session.no_input:
        given = token_from_browser(session, address, lambda prompt: _show(session, prompt))
    if not given:
        raise UsageError(
            "missing-argument",
            "No token was given.",
            "Give --token TOKEN, --token - to read it from standard input, or RYE_TOKEN. The registry's operator creates one: "
            "`rye-registry token create NAME`. `rye registry serve` logs you in each time it starts.",
            what="token",
        )
    return given


def _prompt_for_token() -> str:
    """Ask on the terminal, without showing what is typed, so that no token stays in its history."""
    answer: str = click.prompt("Token (not shown)", hide_input=True, default="", show_default=False, err=True)
    return answer


def _show(session: Session, prompt: BrowserPrompt) -> None:
    # Not through `say`: no one can continue without these words, so --quiet must not hide them.
    click.echo(f"Open {prompt.page}\nand confirm the code {prompt.code}. Ctrl-C stops waiting.", err=True)
    if session.interactive:
        open_page(prompt.page, session.environment)


@command("login")
@click.argument("address", required=False)
@click.option("--token", metavar="TOKEN", help="The token (- asks for it, or reads it from a pipe).")
@click.option("--fingerprint", metavar="HASH", help="Pin a new registry when its root has this fingerprint.")
@click.pass_obj
def login(session: Session, address: str | None, token: str | None, fingerprint: str | None) -> None:
    """Store a token for a registry once the registry accepts it. The first registry becomes the default.

    Without --token and RYE_TOKEN, it shows a page of the registry where you sign in and confirm.
    """
    done = log_in(session, LoginRequest(address, lambda where: _token(session, token, where), fingerprint))
    session.console.answer(
        {
            "registry": done.registry,
            "origin": done.origin,
            "name": done.name,
            **_account(done),
            "namespaces": list(done.namespaces),
        },
        f"logged in to {done.origin} as {_whose(done)}",
    )
    if done.used_here is not None:
        session.console.say(
            f"Commands in this folder use {done.used_here}; `--registry {done.registry}` uses this one once, and "
            f"`rye config set registry {done.registry}` wherever no project names another.",
            "hint",
        )


@command("logout")
@click.argument("address", required=False)
@click.pass_obj
def logout(session: Session, address: str | None) -> None:
    """Forget the token for a registry."""
    where = log_out(session, address)
    session.console.answer({"registry": where, "logged_out": True}, f"logged out of {where}")


@command("whoami")
@click.argument("address", required=False)
@click.pass_obj
def whoami(session: Session, address: str | None) -> None:
    """Show whose token is used for a registry, and the namespaces that it may write to."""
    found = who_am_i(session, address)
    session.console.answer(
        {
            "registry": found.registry,
            "origin": found.origin,
            "name": found.name,
            **_account(found),
            "token": found.token,
            "namespaces": list(found.namespaces),
        },
        f"{_whose(found)} at {found.origin}"
        + (f"\nnamespaces: {', '.join(found.namespaces)}" if found.namespaces else ""),
    )


def _account(login: Login) -> dict[str, str]:
    return {} if login.account is None else {"account": login.account}


def _whose(login: Login) -> str:
    """The account with its token's name; of a token without an account, and from an older server, the token's name alone."""
    return one_line(login.name if login.account is None else f"{login.account} (token {login.name!r})")
