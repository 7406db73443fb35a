"""Graphs in folders of plain arrays, mapped rather than read; see docs/mapped_graphs.md."""
