"""``rye login``, ``logout``, ``whoami``: a token for a registry's API. Reading needs none."""

from __future__ import annotations

import os
import sys

import click

from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.project.registries import normal_address
from rye.project.user_config import Credential, credential, read_settings
from rye.project.user_config_writing import forget_credential, set_setting, store_credential
from rye.registry.transport.api import RegistryApi
from rye.workspace.registry_access import configured, open_api, open_registry


def _address(session: Session, given: str | None) -> str:
    return normal_address(given, session.cwd) if given is not None else configured(session).main()


def _token(session: Session, given: str | None) -> str:
    if given == "-":
        given = sys.stdin.readline().strip()
    given = given or os.environ.get("RYE_TOKEN")
    if not given and session.interactive:
        given = session.console.ask("Token", hidden=True)
    given = (given or "").strip()
    if not given:
        raise UsageError(
            "no-token",
            "No token is given.",
            "Give --token TOKEN, --token - to read it from standard input, or RYE_TOKEN.",
        )
    return given


@command("login")
@click.argument("address", required=False)
@click.option("--token", metavar="TOKEN", help="The token (- reads it from standard input); asked for otherwise.")
@click.option("--fingerprint", metavar="HASH", help="Pin a new registry when its root has this fingerprint.")
@click.pass_obj
def login(session: Session, address: str | None, token: str | None, fingerprint: str | None) -> None:
    """Store a token for a registry, after the registry confirmed it. The first registry becomes the default one."""
    where = _address(session, address)
    with open_registry(session, where, fingerprint=fingerprint) as client:
        secret = _token(session, token)
        found = RegistryApi(client.address, client.api, secret).whoami()
        origin = client.origin
    store_credential(Credential(where, secret, found.name))
    if read_settings().get("registry") is None:
        set_setting("registry", where)
    session.console.answer(
        {"registry": where, "origin": origin, "name": found.name, "namespaces": found.namespaces},
        f"logged in to {origin} as {found.name}",
    )


@command("logout")
@click.argument("address", required=False)
@click.pass_obj
def logout(session: Session, address: str | None) -> None:
    """Forget the token for a registry."""
    where = _address(session, address)
    if not forget_credential(where):
        raise RyeError("not-logged-in", f"There is no token for {where}.", "`rye login` stores one.")
    session.console.answer({"registry": where, "logged_out": True}, f"logged out of {where}")


@command("whoami")
@click.argument("address", required=False)
@click.pass_obj
def whoami(session: Session, address: str | None) -> None:
    """Show whose token is used for a registry, and your default signing key."""
    where = _address(session, address)
    named = where if address or session.registry else None
    if credential(where, named) is None:
        raise RyeError("not-logged-in", f"You are not logged in to {where}.", f"`rye login {where}` stores a token.")
    with open_registry(session, where) as client:
        found = open_api(session, client, argument=named).whoami()
        origin = client.origin
    session.console.answer(
        {"registry": where, "origin": origin, "name": found.name, "token": found.token, "namespaces": found.namespaces},
        f"{found.name} at {origin}" + (f"\nnamespaces: {', '.join(found.namespaces)}" if found.namespaces else ""),
    )
