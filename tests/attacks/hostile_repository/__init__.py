"""Attack by repository: someone with commit access attacks everyone who clones.

:mod:`.upstream` builds one registry and one project, once per process of the test run. :mod:`.clones` copies the project
for a reader with their own data folder. :mod:`.attacks` defines an attack and performs it together with its control.
"""
