"""What commands print on a terminal, kept as files. ``make screens`` renews them; ``tests/cli/test_screens.py`` compares."""
