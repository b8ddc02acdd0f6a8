"""``rye-registry init``: create a registry."""

from __future__ import annotations

import os
from pathlib import Path

import click

from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.settings import from_environment
from registry_server.upkeep.founding import found


@click.command()
@data_option
@click.option("--origin", required=True, help="The registry's permanent name, e.g. registry.example.org.")
@click.option(
    "--root-key-out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the owner's key to this file instead of the data folder.",
)
@click.option(
    "--root-days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long root 1 is valid."
)
@click.option("--database", default="", help="SQLAlchemy address; empty: SQLite in the data folder.")
@click.option("--objects", default="", help="s3://bucket/prefix; empty: public/ in the data folder.")
@click.option("--s3-endpoint", default="", help="Address of an S3-compatible service.")
@click.option("--s3-region", default="", help="Region of the bucket; empty: from the environment.")
@json_option
@pass_output
def init(
    output: Output,
    data: Path,
    origin: str,
    root_key_out: Path | None,
    root_days: int,
    database: str,
    objects: str,
    s3_endpoint: str,
    s3_region: str,
) -> None:
    """Create a registry: its folder, keys, root statement and first signed head.

    Settings from RYE_REGISTRY_… variables, such as a database's password, are used but not written to registry.toml.
    """
    given = {"database": database, "objects": objects, "s3_endpoint": s3_endpoint, "s3_region": s3_region}
    written = {name: value for name, value in given.items() if value}
    root = found(data, origin, written, root_key_out, root_days, from_environment(os.environ))
    fingerprint = root.sha256()
    where = root_key_out or data / "keys"
    output.result(
        {"data": str(data), "origin": origin, "fingerprint": fingerprint, "root_key": str(where)},
        f"Created the registry {origin} in {data}.\nFingerprint of its root: {fingerprint}",
    )
    output.say(f"The owner's key is in {where}: back it up. Anyone who has it owns the registry.")
    output.say(f"Next: `rye-registry token create NAME --data {data}`, then `rye-registry serve --data {data}`")
