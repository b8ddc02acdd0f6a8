"""``python -m rye``: the command line."""

from rye.cli.start import main

main()
