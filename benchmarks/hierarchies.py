"""Hierarchies: MAP, mean rank and F1 of free points on WordNet, gensim beside them, a picture.

python benchmarks/hierarchies.py mammals            the mammals, gensim beside them
python benchmarks/hierarchies.py nouns --dim 10     nouns, one line
python benchmarks/hierarchies.py picture docs/images/mammals.png
"""

from __future__ import annotations

import argparse
import time

import torch

import hgcn
from hgcn.figures import hierarchy_figure, save

EPOCHS = {"wordnet_mammal": 300, "wordnet_noun": 150}


def line(source: str, dim: int, hold_out: str, epochs: int | None = None) -> None:
    """Train once and print a row of the table."""
    start = time.perf_counter()
    run = hgcn.fit(
        source, task="hierarchy", model="free", dim=dim, hold_out=hold_out,
        epochs=epochs or EPOCHS[source], eval_every=10,
    )  # fmt: skip
    test, plain = run.metrics["test"], run.metrics["untrained"]["test"]["popularity"]
    print(
        f"| {source} | {dim} | {hold_out} | {test['map']:.3f} | {test['mean_rank']:.2f} "
        f"| {test['f1']:.3f} | {plain['map']:.3f} | {run.metrics['seconds']:.0f} s "
        f"| {time.perf_counter() - start:.0f} s |"
    )


def gensim_line(dim: int, epochs: int) -> None:
    """Gensim's Poincaré embeddings of the mammals, measured by our ranks."""
    try:
        from gensim.models.poincare import PoincareModel
    except ImportError:
        print("gensim is not installed: pip install gensim")
        return
    from hgcn import geometry
    from hgcn.data.splits.hierarchy import split_hierarchy
    from hgcn.inference.ranks_above import ranks_above
    from hgcn.nn.is_a import DistanceScore
    from hgcn.nn.spaces import Hyperbolic

    graph = hgcn.load("wordnet_mammal", directed=True)
    whole = split_hierarchy(graph, hold_out="nothing").closure
    start = time.perf_counter()
    model = PoincareModel(
        [(str(u), str(v)) for u, v in whole.T.tolist()], size=dim, negative=10, seed=0
    )
    model.train(epochs=epochs)
    seconds = time.perf_counter() - start
    ball = torch.tensor([model.kv[str(i)].tolist() for i in range(graph.num_nodes)])
    z = geometry.from_ball(ball.double(), c=1.0)
    space = Hyperbolic(1.0)
    nodes = torch.unique(whole[0])
    precision, rank = ranks_above(z, z, space, DistanceScore(space).eval(), whole, whole, nodes)
    print(f"| gensim, {epochs} epochs | {dim} | nothing | {precision.mean():.3f} "
          f"| {rank.mean():.2f} | | | {seconds:.0f} s | |")  # fmt: skip


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("mammals", "nouns", "picture"))
    parser.add_argument("out", nargs="?", default="mammals.png")
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--hold-out", default="nothing")
    parser.add_argument("--epochs", type=int)
    asked = parser.parse_args()
    if asked.what == "picture":
        run = hgcn.fit(
            "wordnet_mammal", task="hierarchy", model="free", dim=2, hold_out="nothing",
            epochs=asked.epochs or 150, lr=0.01, negatives=300, eval_every=50,
        )  # fmt: skip
        print(save(hierarchy_figure(run), asked.out), run.metrics["test"])
        return
    print("| data | dim | held out | MAP | mean rank | F1 | popularity | training | all |")
    print("|---|---|---|---|---|---|---|---|---|")
    if asked.what == "nouns":
        line("wordnet_noun", asked.dim, asked.hold_out, asked.epochs)
        return
    for hold_out in ("nothing", "pairs"):
        for dim in (2, 5, 10):
            line("wordnet_mammal", dim, hold_out, asked.epochs)
    gensim_line(5, 50)


if __name__ == "__main__":
    main()
