"""Reading an item for use: found, checked, customized, rendered."""
