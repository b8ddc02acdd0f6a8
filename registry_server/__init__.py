"""The registry server: it accepts signed statements and writes the static files that clients read.

Every module here is private and changes at any time; programs talk to a server over HTTP.

The rooms, from the ground up; the only list, as in :mod:`rye`. A module imports from its own room and from the rooms in the lines
above its own (``tests/house/test_rooms.py``). From :mod:`rye` it uses the rooms up to :mod:`rye.registry`,
and nothing that it imports there needs another room.

* :mod:`registry_server.upstream_settings`: other registries that this one serves
* :mod:`registry_server.settings`: every setting and limit
* :mod:`registry_server.storage`: tables in a database, bytes in a folder or a bucket
* :mod:`registry_server.accounts`: tokens and what each may do; :mod:`registry_server.search`: the search index
* :mod:`registry_server.sequencer`: what may become an entry of the log, and what follows from its entries
* :mod:`registry_server.witnesses`: sends heads to witnesses, and keeps the newest that enough of them cosigned
* :mod:`registry_server.migrations`: opens the database, at the newest revision
* :mod:`registry_server.upkeep`: an operator's work: create, check, copy, restore, take down
* :mod:`registry_server.pages`: the pages that people read
* :mod:`registry_server.upstream`: the doors to other registries: their files, verified and kept here
* :mod:`registry_server.interop`: what programs that know nothing of Rye read
* :mod:`registry_server.api`: the HTTP API
* :mod:`registry_server.cli`: the program ``rye-registry``
* :mod:`registry_server.embedded`: starts that program as a separate process
"""
