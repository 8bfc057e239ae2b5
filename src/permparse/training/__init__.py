"""Training: the loop that every stage of every parser goes through, resumable to the same weights."""
