"""The nearest of many points: an exact search, an index for very many, and paths between two."""
