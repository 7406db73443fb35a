"""A trained network applied to a graph: embeddings, predictions, scores and missing links."""
