"""How files are fetched: the transport interface, folders, HTTP, and the API."""
