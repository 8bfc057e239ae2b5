"""permparse: sentences to structured output without trees."""

__version__ = "0.1.0"
