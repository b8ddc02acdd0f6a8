"""What `make` runs to set up, install and pack Rye. Nothing here is part of the program."""
