"""The registry client and protocol: trusting a registry, fetching its files, mirroring and auditing it."""
