"""Runs: training from start to end, the record of it, its folder, its pictures."""
