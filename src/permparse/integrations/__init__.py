"""permparse inside other libraries."""
