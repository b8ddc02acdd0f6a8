"""Reads the user's models and their keys on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.project.user_config import read_models
from rye.runtime.redaction import known_secrets
from rye.runtime.run.models import Model, parse_models
from rye.storage.home import Home


class Keys(Struct, frozen=True):
    """The user's models and their keys."""

    models: Mapping[str, Model]
    keys: Mapping[str, str]
    """The keys, by the name of their variable."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys, which no log may contain."""
        return known_secrets(self.keys, self.keys)

    @property
    def names(self) -> frozenset[str]:
        """The variables that contain keys. No tool gets one, even if it is granted."""
        return frozenset(model.key_env for model in self.models.values() if model.key_env is not None)


def user_models(home: Home, environment: Mapping[str, str]) -> Keys:
    """Read ``[models]`` from the user's config.toml, and the keys that are set. Raises RyeError ``bad-config``."""
    models = parse_models(read_models(home), str(home.settings_file))
    names = {model.key_env for model in models.values() if model.key_env is not None}
    keys = {name: environment.get(name, "").strip() for name in names}
    return Keys(models, {name: key for name, key in keys.items() if key})
