"""Graphs from files and from objects of other packages, read and checked."""
