"""What tests of several rooms share: registries that are served, people, texts of items, how much a test tries."""
