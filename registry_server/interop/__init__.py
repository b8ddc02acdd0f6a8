"""What programs that know nothing of Rye read of a registry: files and answers that follow from the log, in their forms.

Nothing here is published or kept: each answer is derived when somebody reads it, and remembered until an entry changes it.
"""
