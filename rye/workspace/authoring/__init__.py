"""An author at work: new, validate, fix, sign, migrate, adopt."""
