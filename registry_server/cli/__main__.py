"""``python -m registry_server.cli``: the program, whichever interpreter runs it."""

from registry_server.cli import main

main()
