"""The HTTP door of the server: the contract as Connect, gRPC-Web and JSON, and the files of the page."""
