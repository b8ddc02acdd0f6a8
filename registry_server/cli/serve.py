"""``rye-registry serve``: serve over HTTP, and warn about what is exposed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from registry_server.accounts import registry_keys
from registry_server.api import logs
from registry_server.api.serving import serve as run
from registry_server.cli.options import Output, accept_clock_option, data_option, json_option, pass_output
from registry_server.cli.registry_access import settings_of
from rye.text.addresses import is_loopback


@click.command()
@data_option
@click.option("--host", default=None, help="Address to listen on. Default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="Port; 0 for a free one. Default: 8420.")
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the address to this file as JSON.",
)
@accept_clock_option
@json_option
@pass_output
def serve(
    output: Output, data: Path, host: str | None, port: int | None, ready_file: Path | None, accept_clock: bool
) -> None:
    """Serve the registry until SIGTERM or Ctrl-C."""
    settings = settings_of(data, {"host": host, "port": port})
    logs.set_up(settings.log_format)
    for path in (*registry_keys.exposed(settings.keys), *settings.open_to_others()):
        output.say(f"warning: other users can read {path}: chmod go-rwx {path}")
    is_local = is_loopback(settings.host)
    if not is_local:
        output.say(f"warning: listening on {settings.host} without TLS; put an https proxy in front.")
    if not settings.address and (settings.trusted_proxies or not is_local):
        where = "links, sign-in and webhooks begin with"
        output.say(f"warning: {where} {settings.public_address}: set `address` in registry.toml to what readers use.")

    def announce(url: str) -> None:
        output.result({"url": url, "pid": os.getpid()}, f"Serving on {url}")
        sys.stdout.flush()

    run(settings, ready_file, announce, accept_clock=accept_clock)
