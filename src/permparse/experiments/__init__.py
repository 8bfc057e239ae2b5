"""Tables and figures anyone can rerun: what to train, running it, and what came of it."""
