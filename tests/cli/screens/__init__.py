"""What commands print on a terminal, kept as files. ``make screens`` updates them; ``tests/cli/test_screens.py`` compares."""
