"""``rye-registry webhook``: addresses that are notified of new log entries."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from registry_server.accounts import administration, guarded_http, webhooks
from registry_server.accounts.administration import By
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of

_COLUMNS = (ListColumn("webhook"), ListColumn("address"), ListColumn("namespace"), ListColumn("events", wraps=True))
_OF_DELIVERIES = (
    ListColumn("created"),
    ListColumn("delivery"),
    ListColumn("event"),
    ListColumn("state"),
    ListColumn("attempts", "attempts {}"),
    ListColumn("error", wraps=True),
)


@click.group(no_args_is_help=True)
def webhook() -> None:
    """Manage webhooks: addresses that are notified of new log entries."""


@webhook.command("add")
@click.argument("url")
@click.option("--namespace", default="", help="Only entries about this namespace.")
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice(list(webhooks.EVENTS)),
    help="Only this event; repeatable. Default: all.",
)
@data_option
@json_option
@pass_output
def webhook_add(output: Output, url: str, namespace: str, events: tuple[str, ...], data: Path) -> None:
    """Notify URL of log entries from now on, and print the secret that signs its deliveries. It is shown only this once."""
    settings = settings_of(data, {})
    inside = guarded_http.listed_networks(settings.webhook_networks)
    with changing(data) as connection:
        added = administration.add_webhook(connection, url, namespace, events, By(now_text()), inside)
    output.result(
        {**added.as_json(), "secret": added.secret}, f"Added the webhook.\nID: {added.id}\nSecret: {added.secret}"
    )
    output.say(guarded_http.told(str(urlsplit(url).hostname), inside=inside))
    output.say("Keep the secret: the receiver checks X-Rye-Signature with it.")
    if not settings.webhooks:
        output.say("Nothing is sent until you set `webhooks = true` in registry.toml and restart the server.")


@webhook.command("list")
@data_option
@json_option
@pass_output
def webhook_list(output: Output, data: Path) -> None:
    """List webhooks, without their secrets."""
    with reading(data) as connection:
        listed = webhooks.listing(connection)
    rows = [(row.id, row.url, row.namespace or "all", " ".join(row.events) or "every event") for row in listed]
    show_list(output, {"webhooks": [row.as_json() for row in listed]}, _COLUMNS, rows, "No webhooks.")


@webhook.command("remove")
@click.argument("webhook_id", metavar="ID")
@data_option
@json_option
@pass_output
def webhook_remove(output: Output, webhook_id: str, data: Path) -> None:
    """Remove a webhook. ID: from `webhook list`."""
    with changing(data) as connection:
        gone = administration.remove_webhook(connection, webhook_id, By(now_text()))
    output.result(gone.as_json(), f"Removed {gone.url}")


@webhook.command("deliveries")
@click.argument("webhook_id", metavar="[ID]", required=False)
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="The most to list.")
@data_option
@json_option
@pass_output
def webhook_deliveries(output: Output, webhook_id: str | None, limit: int, data: Path) -> None:
    """List deliveries, newest first: delivered, due or given up."""
    with reading(data) as connection:
        deliveries = webhooks.history(connection, limit, webhook_id)
    document = [{**row, "state": webhooks.state_of(row)} for row in deliveries]
    rows = [
        (row["created"], row["id"], row["event"], row["state"], str(row["attempts"]), str(row["error"] or ""))
        for row in document
    ]
    show_list(output, {"deliveries": document}, _OF_DELIVERIES, rows, "No deliveries.")
