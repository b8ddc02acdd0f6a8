"""The doors to other registries: their files, verified and kept here."""
