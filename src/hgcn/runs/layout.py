"""The names of the files of a run folder; docs/run_folder.md describes them."""

CONFIG, HISTORY, METRICS = "config.toml", "history.csv", "metrics.json"
MODEL, EMBEDDINGS, ENVIRONMENT = "model.safetensors", "embeddings.parquet", "environment.json"
RESUME, LOCK, CARD = "resume.safetensors", ".lock", "README.md"
PAGE, REPORT = "disk.html", "report.html"
AUTO = "auto.json"
"""What was tried before training, of a run whose settings were chosen (:mod:`hgcn.runs.auto`)."""
SEALED = (CONFIG, METRICS, HISTORY, MODEL)
"""Files whose checksums are in environment.json, with those that not every run has."""
OPTIONAL = (AUTO,)
