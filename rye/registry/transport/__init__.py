"""How bytes are fetched: the transport protocol, files, HTTP, the API."""
