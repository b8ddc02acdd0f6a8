"""``rye-registry publisher``: workflows that get short-lived tokens for a namespace."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import administration, publishers
from registry_server.accounts.administration import By
from registry_server.accounts.scopes import parse_scopes
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, piped, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading

_COLUMNS = (
    ListColumn("publisher"),
    ListColumn("namespace"),
    ListColumn("workflow"),
    ListColumn("issuer"),
    ListColumn("scopes"),
    ListColumn("owner", "owner {}"),
)


@click.group(no_args_is_help=True)
def publisher() -> None:
    """Manage trusted publishers: workflows that need no secret to upload."""


@publisher.command("add")
@click.argument("namespace")
@click.option("--issuer", default="github", show_default=True, help="github, gitlab, or the address of an OIDC issuer.")
@click.option("--repository", required=True, metavar="OWNER/NAME", help="The workflow's repository.")
@click.option("--workflow", required=True, metavar="FILE", help="The workflow's file, e.g. release.yml.")
@click.option("--environment", default="", help="Only this deployment environment. Default: any.")
@click.option(
    "--scope", "scopes", multiple=True, metavar="SCOPE", help="What its tokens may do; repeatable. Default: stage."
)
@data_option
@json_option
@pass_output
def publisher_add(
    output: Output,
    namespace: str,
    issuer: str,
    repository: str,
    workflow: str,
    environment: str,
    scopes: tuple[str, ...],
    data: Path,
) -> None:
    """Trust a workflow: it gets tokens for NAMESPACE, valid for 15 minutes, that can stage or do what --scope allows."""
    wanted = parse_scopes(scopes) or publishers.DEFAULT_SCOPES
    with changing(data) as connection:
        by = By(now_text())
        added = administration.add_publisher(
            connection, namespace, issuer, repository, workflow, environment, wanted, by
        )
    words = (
        f"Trusted: {_workflow(added)} at {added.issuer} gets tokens for {added.namespace}, with the "
        f"scope{'' if len(added.scopes) == 1 else 's'} {', '.join(added.scopes)}."
    )
    output.result(added.as_json(), f"{words}\nID: {added.id}")


@publisher.command("list")
@click.argument("namespace", required=False)
@data_option
@json_option
@pass_output
def publisher_list(output: Output, namespace: str | None, data: Path) -> None:
    """List the trusted publishers of NAMESPACE, or all."""
    with reading(data) as connection:
        rows = publishers.listing(connection, namespace)
    document: dict[str, object] = {"publishers": [row.as_json() for row in rows]}
    show_list(output, document, _COLUMNS, [(row.id, *_cells(row)) for row in rows], "No trusted publishers.")


@publisher.command("remove")
@click.argument("publisher_id", metavar="ID")
@data_option
@json_option
@pass_output
def publisher_remove(output: Output, publisher_id: str, data: Path) -> None:
    """Stop trusting a publisher. ID: from `publisher list`."""
    with changing(data) as connection:
        gone = administration.remove_publisher(connection, publisher_id, By(now_text()))
    output.result(gone.as_json(), f"Removed {_line(gone)}")


def _cells(publisher: publishers.Publisher) -> tuple[str, ...]:
    scopes = " ".join(publisher.scopes)
    return publisher.namespace, _workflow(publisher), publisher.issuer, scopes, publisher.owner or ""


def _workflow(publisher: publishers.Publisher) -> str:
    """The repository, the workflow's file, and the environment if only one will do."""
    environment = f" in {publisher.environment}" if publisher.environment else ""
    return f"{publisher.repository} {publisher.workflow}{environment}"


def _line(publisher: publishers.Publisher) -> str:
    """A publisher without its ID, on one line."""
    return piped(_COLUMNS[1:], [_cells(publisher)])
