"""Hierarchies: MAP, mean rank and F1 of free points on WordNet, gensim beside them, a picture.

python benchmarks/hierarchies.py mammals                        one line, and where it starts
python benchmarks/hierarchies.py mammals --is-a distance        the score by distance
python benchmarks/hierarchies.py mammals --dim 5 --gensim 50    and gensim, 50 epochs
python benchmarks/hierarchies.py mammals --is-a distance --random            from random points
python benchmarks/hierarchies.py mammals --is-a distance --random --adam     with Adam
python benchmarks/hierarchies.py mammals --model hyp --lr 0.01  Riemannian descent of geoopt
python benchmarks/hierarchies.py nouns --below artifact --hold-out pairs    part of the nouns
python benchmarks/hierarchies.py nouns --dim 10                 all nouns
python benchmarks/hierarchies.py nouns --dim 10 --epochs 12 --sample 3000    in half a minute
python benchmarks/hierarchies.py nouns --below mammal --text --model hnn --hold-out edges    glosses
python benchmarks/hierarchies.py picture docs/images/mammals.png

Scores are of the validation part, whatever is held out; `hgcn train` prints those of the test.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
import torch

import hgcn
from hgcn import geometry
from hgcn.data.columns import Words
from hgcn.data.graph import Graph
from hgcn.data.sparse import as_features, select_rows
from hgcn.data.splits.hierarchy import closure, split_hierarchy
from hgcn.figures import hierarchy_figure, save
from hgcn.inference.ranks_above import ranks_above
from hgcn.models.shallow import Free, Vectors
from hgcn.nn.is_a import ConeScore, DistanceScore
from hgcn.nn.spaces import Hyperbolic
from hgcn.training.hierarchy import CONE_STEP, HierarchyTask
from hgcn.training.tree_start import tree_start

SOURCES = {"mammals": "wordnet_mammal", "nouns": "wordnet_noun"}
EPOCHS = {"mammals": 100, "nouns": 40}


def load(what: str, below: str | None, text: bool) -> Graph:
    """The graph, or the part of it below a node; with the names and glosses of nouns to read."""
    graph = hgcn.load(SOURCES[what], directed=True)
    if text:
        words = [f"{name} {gloss}".replace("_", " ") for name, gloss in
                 zip(graph.columns["name"], graph.columns["gloss"], strict=True)]  # fmt: skip
        hashed = Words("text").encode(pl.Series(words), str)
        graph = graph.replace(x=as_features(hashed))
    if below is None:
        return graph
    names = [str(name) for name in graph.columns.get("name", graph.ids)]
    pairs = closure(graph.pairs(), graph.num_nodes)
    top = names.index(below)
    part = torch.cat((pairs[0, pairs[1] == top], torch.tensor([top]))).sort()[0]
    number = torch.full((graph.num_nodes,), -1)
    number[part] = torch.arange(len(part))
    edges, x = number[graph.pairs()], None if graph.x is None else select_rows(graph.x, part)
    return Graph(edges[:, (edges >= 0).all(0)], len(part), x=x, ids=graph.ids[part], directed=True,
                 name=f"{graph.name} below {below}")  # fmt: skip


def line(graph: Graph, asked: argparse.Namespace) -> None:
    """Train once and print a row of the table."""
    settings = {"lr": asked.lr, "is_a": asked.is_a}
    start = time.process_time()
    run = hgcn.fit(
        graph, task="hierarchy", model=asked.model, dim=asked.dim, hold_out=asked.hold_out,
        epochs=asked.epochs or EPOCHS[asked.what], eval_every=10, split_seed=asked.split_seed,
        **settings,
    )  # fmt: skip
    val, untrained = run.metrics["val"], run.metrics["untrained"]["val"]
    plain = ", ".join(f"{scores['map']:.3f}" for scores in untrained.values())
    print(f"| {graph.name}, {asked.model}, {run.config.is_a} | {asked.dim} | {asked.hold_out} "
          f"| {val['map']:.3f} | {val['mean_rank']:.2f} | {val['f1']:.3f} "
          f"| {run.metrics.get('toll', '')} | {plain} | {run.metrics['seconds']:.0f} s, "
          f"with evaluation {time.process_time() - start:.0f} s of processor |")  # fmt: skip


def start_line(graph: Graph, asked: argparse.Namespace) -> None:
    """The points that training with cones starts from, measured without training."""
    split = split_hierarchy(graph, hold_out=asked.hold_out, seed=asked.split_seed)
    z = tree_start(
        split.known, graph.num_nodes, asked.dim, step=CONE_STEP, root=1.0,
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    space = Hyperbolic(1.0)
    nodes = torch.unique(split.val[0])
    nodes = nodes[torch.randperm(len(nodes))[: asked.sample]]
    precision, rank = ranks_above(z, z, space, ConeScore(space), split.val, split.closure, nodes)
    print(f"| the same before training, cone | {asked.dim} | {asked.hold_out} "
          f"| {precision.mean():.3f} | {rank.mean():.2f} | | | | |")  # fmt: skip


def gensim_line(graph: Graph, dim: int, epochs: int) -> None:
    """Gensim's Poincaré embeddings of the whole closure, measured by our ranks."""
    from gensim.models.poincare import PoincareModel

    whole = closure(graph.pairs(), graph.num_nodes)
    start = time.perf_counter(), time.process_time()
    model = PoincareModel(
        [(str(u), str(v)) for u, v in whole.T.tolist()], size=dim, negative=10, seed=0
    )
    model.train(epochs=epochs)
    seconds, busy = time.perf_counter() - start[0], time.process_time() - start[1]
    ball = torch.tensor(np.stack([model.kv[str(i)] for i in range(graph.num_nodes)]))
    z = geometry.from_ball(ball.double(), c=1.0)
    space = Hyperbolic(1.0)
    score = DistanceScore(space).eval()
    nodes = torch.unique(whole[0])
    for toll in (0.0, 4.0):
        score.choose(toll, 0.0)
        precision, rank = ranks_above(z, z, space, score, whole, whole, nodes)
        print(f"| gensim, {epochs} epochs | {dim} | nothing | {precision.mean():.3f} "
              f"| {rank.mean():.2f} | | {toll} | | {seconds:.0f} s, {busy:.0f} s of processor |"
        )  # fmt: skip


def picture(path: str, epochs: int) -> None:
    """The mammals on the disk."""
    run = hgcn.fit(
        "wordnet_mammal", task="hierarchy", model="free", dim=2, hold_out="nothing",
        epochs=epochs, eval_every=50,
    )  # fmt: skip
    print(save(hierarchy_figure(run), path), run.metrics["val"])


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("mammals", "nouns", "picture"))
    parser.add_argument("out", nargs="?", default="mammals.png")
    parser.add_argument("--dim", type=int, default=5)
    parser.add_argument("--hold-out", default="nothing")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--model", default="free")
    parser.add_argument("--is-a", choices=("cone", "distance"))
    parser.add_argument("--lr", type=float)
    parser.add_argument("--sample", type=int, help="rank for so many nodes, not for all")
    parser.add_argument("--random", action="store_true", help="free points start at random")
    parser.add_argument("--adam", action="store_true", help="free points trained by Adam")
    parser.add_argument("--below", metavar="NAME", help="only what is below a node")
    parser.add_argument("--text", action="store_true", help="read names and glosses of nouns")
    parser.add_argument("--split-seed", type=int, default=0)
    parser.add_argument("--gensim", type=int, metavar="EPOCHS", help="gensim beside it")
    asked = parser.parse_args()
    if asked.what == "picture":
        picture(asked.out, asked.epochs or 150)
        return
    if asked.sample:
        every = HierarchyTask._ranks
        HierarchyTask._ranks = lambda task, part, most=None: every(  # type: ignore[method-assign]
            task, part, min(most or asked.sample, asked.sample)
        )
    if asked.random:
        HierarchyTask._start = lambda *_: None  # type: ignore[method-assign, assignment]
    if asked.adam:
        Free.make_optimizer = Vectors.make_optimizer  # type: ignore[method-assign]
    graph = load(asked.what, asked.below, asked.text)
    print("| data | dim | held out | MAP | mean rank | F1 | toll | popularity | training |")
    print("|---|---|---|---|---|---|---|---|---|")
    line(graph, asked)
    if asked.model == "free" and asked.is_a != "distance" and not asked.random:
        start_line(graph, asked)
    if asked.gensim:
        gensim_line(graph, asked.dim, asked.gensim)


if __name__ == "__main__":
    main()
