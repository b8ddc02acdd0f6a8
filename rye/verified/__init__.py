"""What this user's Rye verified on this machine, and whether it still matches (DESIGN 6.1, Verified here; ADR 0009).

:mod:`memory` says what a verdict depends on, and so what forgets it, knows and remembers rows and whole locks under it, and
compares a row with its release; :mod:`require` refuses rows that were not verified; :mod:`release` is the last check of a
release's bytes; :mod:`on_disk` and :mod:`installed` compare files with rows. Whether an installation has anything
to do also depends on consent and policy: :mod:`rye.workspace.installing.install`.
"""
