"""The commands of `hgcn`, one module each: `configure(parser)` and `run(arguments)`."""
