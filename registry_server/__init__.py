"""The registry server: it accepts signed statements and writes the static files that clients read.

The rooms, from the ground up. A module imports from its own room and from rooms above it in this list, never from below;
``tests/test_rooms.py`` holds that. From :mod:`rye` it uses the rooms below the workspace.

* :mod:`registry_server.settings`: every setting and limit
* :mod:`registry_server.storage`: tables in a database, bytes in a folder or a bucket
* :mod:`registry_server.accounts`: tokens and what each may take; :mod:`registry_server.search`: what people find items by
* :mod:`registry_server.sequencer`: what may become an entry of the log, and what follows from its entries
* :mod:`registry_server.migrations`: opening the database, at the newest revision
* :mod:`registry_server.upkeep`: what an operator does: founding, checking, copying, restoring, taking down
* :mod:`registry_server.interop`: what programs that know nothing of Rye read
* :mod:`registry_server.api`: what is answered over HTTP
* :mod:`registry_server.cli`: the program ``rye-registry``
* :mod:`registry_server.embedded`: starts that program for others
"""
