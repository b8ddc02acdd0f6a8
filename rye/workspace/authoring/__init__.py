"""An author's use cases: new, validate, fix, sign, migrate, adopt."""
