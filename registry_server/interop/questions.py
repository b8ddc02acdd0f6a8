"""What is asked of the tables for programs that know nothing of Rye."""

from __future__ import annotations

import sqlalchemy as sa

from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import log_entries, name_entries, names, releases

COUNT_NAMES = Prepared(
    sa.select(sa.func.count(sa.distinct(releases.c.name))).where(
        releases.c.name.like(sa.bindparam("pattern"), escape="!")
    )
)
AVAILABLE = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position)
    .where(
        releases.c.name.like(sa.bindparam("pattern"), escape="!"),
        releases.c.yanked.is_(sa.false()),
        releases.c.position < sa.bindparam("shown"),
    )
    .order_by(releases.c.position)
)
"""Releases that are not withdrawn and that the shown head covers."""
ONE_AVAILABLE = Prepared(
    sa.select(releases.c.version, releases.c.position)
    .where(
        releases.c.name == sa.bindparam("name"),
        releases.c.yanked.is_(sa.false()),
        releases.c.position < sa.bindparam("shown"),
    )
    .order_by(releases.c.position)
)
SKILL_NAMES = Prepared(
    sa.select(releases.c.name)
    .where(
        releases.c.name.like(sa.bindparam("pattern"), escape="!"),
        releases.c.yanked.is_(sa.false()),
        releases.c.position < sa.bindparam("shown"),
    )
    .distinct()
)
KNOWN_SKILLS = Prepared(
    sa.select(releases.c.name).where(releases.c.name.like(sa.bindparam("pattern"), escape="!")).distinct()
)
"""Withdrawn ones, too."""
ONE_NAME = Prepared(sa.select(names.c.deprecated).where(names.c.name == sa.bindparam("name")))
LEAVES = Prepared(sa.select(log_entries.c.position, log_entries.c.leaf).where(Among(log_entries.c.position)))
NAMES_WITH = Prepared(
    sa.select(name_entries.c.name)
    .join(log_entries, log_entries.c.position == name_entries.c.position)
    .where(
        log_entries.c.position >= sa.bindparam("start"),
        log_entries.c.leaf >= sa.bindparam("low"),
        log_entries.c.leaf < sa.bindparam("high"),
    )
    .distinct()
)
"""Names about which there is an entry whose bytes lie between two others: of one title, from a position on."""
