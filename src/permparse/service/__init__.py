"""The service behind `permparse serve`: a page to look at parses, and an HTTP interface to call."""
