"""The names of the files of a run folder; docs/run_folder.md describes them."""

CONFIG, HISTORY, METRICS = "config.toml", "history.csv", "metrics.json"
MODEL, EMBEDDINGS, ENVIRONMENT = "model.safetensors", "embeddings.parquet", "environment.json"
RESUME, PAGE, LOCK, CARD = "resume.safetensors", "disk.html", ".lock", "README.md"
REPORT, AUTO = "report.html", "auto.json"
"""What was tried before training, of a run whose settings were chosen (:mod:`hgcn.runs.auto`)."""
SEALED = (CONFIG, METRICS, HISTORY, MODEL)
"""Files whose checksums are in environment.json, with those that not every run has."""
OPTIONAL = (AUTO,)
