"""Choose the settings of each method on each column of Table 1, on validation, with one budget.

    python benchmarks/choose_settings.py --cells 'hgcn/*/link' 'gcn/*/link' --trials 20

Writes a file for each cell into src/hgcn/presets/, where `hgcn train` and `hgcn reproduce` find
it. Cells that have one are passed over; delete the file to choose anew.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import warnings
from dataclasses import fields
from pathlib import Path

import torch

from hgcn.config import Config
from hgcn.data import load
from hgcn.errors import HGCNError
from hgcn.experiments.cells import Cell, table1
from hgcn.search_space import TUNABLE
from hgcn.searching import search

PRESETS = Path(__file__).parents[1] / "src" / "hgcn" / "presets"
EPOCHS, PATIENCE = 1500, 100


def preset_path(cell: Cell) -> Path:
    return PRESETS / f"{cell.source}-{cell.task}-{cell.row}.toml"


def choose(cell: Cell, trials: int, processes: int) -> None:
    result = search(
        load(cell.source), task=cell.task, model=cell.row, trials=trials, processes=processes,
        epochs=EPOCHS, patience=PATIENCE, seed=0,
    )  # fmt: skip
    default = {setting.name: setting.default for setting in fields(Config)}
    chosen = {
        name: value
        for name, value in result.config.to_dict().items()
        if name in TUNABLE and value is not None and value != default[name]
    }
    score = f"{100 * result.value:.2f}"
    lines = [
        f"# Chosen by the validation {result.score} ({score}) of one seed in {trials} trials:",
        "# benchmarks/choose_settings.py.",
        f'task = "{cell.task}"',
        f'model = "{cell.row}"',
        f"epochs = {EPOCHS}",
        *[f"{name} = {json.dumps(round_(value))}" for name, value in chosen.items()],
    ]
    preset_path(cell).write_text("\n".join(lines) + "\n")
    print(f"{cell.name}: validation {score} with {chosen}", flush=True)


def round_(value: object) -> object:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", default=["*"], help="patterns of ROW/DATASET/TASK")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cells = table1()
    for pattern in options.cells:
        for cell in cells:
            name = f"{cell.row}/{cell.dataset}/{cell.task}"
            if fnmatch.fnmatchcase(name, pattern) and not preset_path(cell).exists():
                try:
                    choose(cell, options.trials, options.processes)
                except HGCNError as error:
                    print(f"{cell.name}: failed: {error}", flush=True)


if __name__ == "__main__":
    main()
