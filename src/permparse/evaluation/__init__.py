"""How good a parser is, by group, and where it errs."""
