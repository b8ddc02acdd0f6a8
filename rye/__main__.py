"""``python -m rye``: the command line."""

from rye.cli.main import main

main()
