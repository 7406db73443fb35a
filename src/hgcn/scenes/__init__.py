"""Scenes: the content of a picture, that is, layers in two dimensions and facts about nodes."""
