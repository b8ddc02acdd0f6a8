"""What needs a person's yes, who gave it, and where that is kept (DESIGN 6.1, DESIGN 7).

An :class:`~rye.consent.ask.Ask` is one thing that needs a yes. :data:`~rye.consent.sorts.SORTS` has one row for each sort of
them, and nothing else tells sorts apart: a new sort is a row there, with its key in rye.lock.
"""
