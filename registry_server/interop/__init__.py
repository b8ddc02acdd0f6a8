"""Files and responses for programs other than Rye, derived from the log, in those programs' own formats.

Nothing here is published or stored: a response is derived when someone reads it, and cached until an entry changes it.
"""
