"""Multiset tagging with latent permutations: tag every word with a multiset of tokens, then order all of them."""
