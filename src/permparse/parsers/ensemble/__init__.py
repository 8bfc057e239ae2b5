"""Several trained parsers as one, which agree on outputs."""
