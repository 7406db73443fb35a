"""Graphs in folders of plain arrays, mapped into memory rather than read; see docs/mapped_graphs.md."""
