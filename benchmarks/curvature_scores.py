"""Writes the scores that `hgcn figures curvature` draws, from the results of this repository."""

import json
from pathlib import Path

from hgcn.experiments import Store
from hgcn.figures.curvature import SCORES, curvature_scores

STORE = Path(__file__).parents[1] / "results" / "runs.jsonl"


def main() -> None:
    scores = curvature_scores(Store(STORE))
    lines = ",\n".join(f"{json.dumps(row)}: {json.dumps(of)}" for row, of in scores.items())
    SCORES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(SCORES)


if __name__ == "__main__":
    main()
