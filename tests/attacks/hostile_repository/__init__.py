"""The world "hostile repository": someone who can commit attacks everyone who clones.

:mod:`.world` builds one registry and one project, once for a process of the test run; :mod:`.clones` copies the project for a
reader who has a data folder of their own; :mod:`.attacks` says what an attack is and performs it, with its control.
"""
