"""Where the shares of a search are computed."""
