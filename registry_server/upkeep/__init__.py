"""An operator's work: create a registry, check it, copy it, restore it, take files down."""
