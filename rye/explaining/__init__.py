"""What every error code means: a table of all codes, with examples. `rye explain` and docs/errors come from it.

Nothing but `rye explain`, the generator of the pages and tests reads the table, so no other command pays for it.
"""
