"""``python -m registry_server.cli``: the program under this interpreter."""

from registry_server.cli import main

main()
