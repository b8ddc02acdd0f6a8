"""How bytes arrive: the transport protocol, files, HTTP, the API."""
