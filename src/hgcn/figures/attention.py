"""Figure 5 of the paper: attention within two hops in GAT and HGCN, of one node and of all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hgcn.data.graph import Graph
from hgcn.errors import ConfigError, GraphError
from hgcn.experiments.paper import TITLES
from hgcn.inference.attention import Attention, attention_layers, heard_from, shares_of
from hgcn.plots.style import BLUE, INK, LETTERS, ORANGE, SOFT, lettered, new_figure, style
from hgcn.runs.fit import fit
from hgcn.scenes.columns import depth, labels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hgcn.runs.run import Run

MODELS = ("gat", "hgcn")
SOURCE = "disease"
SEEDS = 3
COMFORTABLE = range(10, 31)
"""Sizes of a neighbourhood that are neither dull nor crowded."""
MOST_NAMES = 36
"""Nodes of a neighbourhood whose names can be read."""


def train_for_attention(
    *,
    source: str = SOURCE,
    seed: int = 0,
    seeds: int = SEEDS,
    on_run: Callable[[str], Any] | None = None,
    **settings: Any,
) -> list[Run]:
    """The runs of the figure: GAT and HGCN with attention, two layers, on a tree of an epidemic.

    Each has several seeds, ``seed`` and those after it: one training is an anecdote.
    See :func:`attention_figure`, which is drawn of them.
    """
    runs = []
    for model in MODELS:
        for one in range(seed, seed + seeds):
            watch = on_run(f"{model} on {source}, seed {one}") if on_run else None
            wanted: dict[str, Any] = {"model": model, "task": "node", "layers": 2, "seed": one}
            if model == "hgcn":
                wanted["attention"] = True
            runs.append(fit(source, on_epoch=watch, **{**wanted, **settings}))
    return runs


@dataclass(frozen=True)
class Neighbourhood:
    """The nodes and edges within two hops of a node, and a layout to draw them.

    Attributes:
        centre: the node.
        nodes: all nodes, the centre first, then by hops.
        links: edges as (target, source), those into the centre first, then those into its
            neighbours from further out.
        position: coordinates of each node: from left to right, and from root to leaf.
    """

    centre: int
    nodes: list[int]
    links: list[tuple[int, int]]
    position: dict[int, tuple[float, float]]


def attention_figure(runs: Sequence[Run], *, node: Any = None) -> Figure:
    """The attention of one node on its two-hop neighbourhood, and that of all nodes below.

    A first-hop edge shows the share that the last layer gives to a neighbour. A second-hop edge
    shows this share times the one that the neighbour gave one layer earlier: how much of a node
    arrives at the centre along the path. Below is how much each node hears from above over the
    last two layers, all nodes together, a line for each seed.

    Args:
        runs: runs of networks with attention, all on the same graph; those of the same model are
            seeds of one panel, the first of which is drawn.
        node: id of the centre; by default one with parent, grandparent and children.

    Example:
        >>> runs = train_for_attention(epochs=2, seeds=1)
        >>> len(attention_figure(runs).axes) >= len(runs)
        True
    """
    if not runs:
        raise ConfigError("Expected at least one run to draw, got none.")
    graph = runs[0].graph
    for run in runs[1:]:
        if run.graph.num_nodes != graph.num_nodes:
            raise GraphError(
                f"Expected runs on the same graph, got {graph.num_nodes} and "
                f"{run.graph.num_nodes} nodes."
            )
    level = node_depth(graph)
    neighbours = _neighbours(graph)
    centre = _find(graph, node) if node is not None else choose_centre(neighbours, level)
    around = neighbourhood(centre, neighbours, level)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.config.model, []).append(run)
    shares = [path_shares(group[0], around) for group in groups.values()]
    top = max(max(one.values(), default=1.0) for one in shares)
    names = labels_of(graph) or [str(one) for one in graph.ids.tolist()]
    with style():
        figure = new_figure(4.4 * len(groups), 5.6)
        panels = figure.subplots(2, len(groups), squeeze=False, height_ratios=(3, 1.3))
        columns = zip(panels.T, groups.values(), shares, strict=True)
        for k, ((above, below), group, share) in enumerate(columns):
            model = group[0].config.model
            _draw(above, around, share, level, top)
            _name(above, around, names)
            heard = heard_from(_last_two(group[0]), centre)
            upward = sum(s for j, s in heard.items() if level[j] < level[centre])
            lettered(above, LETTERS[k], TITLES.get(model, model))
            said = f"node {names[centre]} hears {100 * upward:.0f} % from above, over two layers"
            above.text(
                0.5, -0.09, said, transform=above.transAxes, ha="center", va="top", color=SOFT
            )
            said = _spread(below, [upward_shares(run, level) for run in group], upward)
            lettered(below, LETTERS[len(groups) + k], said, fontsize=9)
        panels[1, 0].set_ylabel("per cent of nodes")
        highest = max(ax.get_ylim()[1] for ax in panels[1])
        for ax in panels[1]:
            ax.set_ylim(0, highest)  # so that models can be compared
        _scale(figure, panels[0], top)
        return figure


def upward_shares(run: Run, level: np.ndarray) -> np.ndarray:
    """How much each node hears from above over the last two layers; NaN at the top."""
    from scipy.sparse import csr_array

    def matrix(layer: Attention) -> csr_array:
        edges, share = layer
        source, target = edges.numpy()
        return csr_array((share.double().numpy(), (target, source)), shape=(n, n))

    n = len(level)
    before, last = map(matrix, _last_two(run))
    heard = (last @ before).tocoo()
    target, source = heard.coords
    above = np.bincount(target, heard.data * (level[source] < level[target]), minlength=n)
    return np.where(level > level.min(), above, np.nan)


def _spread(ax: Axes, seeds: list[np.ndarray], drawn: float) -> str:
    """Draw how the shares from above are spread, a line for each seed; what their mean is."""
    bins = np.linspace(0, 1, 26)
    for values in seeds:
        known = values[np.isfinite(values)]
        counts = np.histogram(known, bins)[0]
        ax.stairs(100 * counts / max(1, len(known)), bins, color=BLUE, alpha=0.75, linewidth=1.2)
    ax.axvline(drawn, color=ORANGE, linewidth=1.2)
    means = [float(np.nanmean(values)) for values in seeds]
    spread = f" ± {100 * np.std(means, ddof=1):.0f}" if len(means) > 1 else ""
    count = f", {len(means)} seeds" if len(means) > 1 else ""
    ax.set_xlabel("share heard from above")
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda value, at: f"{100 * value:.0f} %")
    return f"all nodes: {100 * np.mean(means):.0f}{spread} % on average{count}"


def _name(ax: Axes, around: Neighbourhood, names: Sequence[str]) -> None:
    """The names of the nodes, where there is room for them."""
    if len(around.nodes) > MOST_NAMES:
        return
    from matplotlib.patheffects import withStroke

    place = around.position
    lowest = min(y for _, y in place.values())
    above = {
        (i if place[i][1] < place[j][1] else j): (j if place[i][1] < place[j][1] else i)
        for i, j in around.links
    }
    for node in around.nodes:
        leaf = place[node][1] == lowest
        # Beside the edge upwards, not on it.
        left = node in above and place[above[node]][0] > place[node][0] + 0.5
        beside = (0, -7) if leaf else (-7, 4) if left else (7, 4)
        ax.annotate(
            names[node][:14], place[node], beside,
            textcoords="offset points", rotation=90 if leaf else 0, fontsize=6.5, color=INK,
            ha="center" if leaf else "right" if left else "left", va="top" if leaf else "center",
            zorder=5, path_effects=[withStroke(linewidth=2, foreground="white")],
        )  # fmt: skip


def node_depth(graph: Graph) -> np.ndarray:
    """The depth of each node: the column "depth" of the data where they have one."""
    if "depth" in graph.columns:
        return np.asarray(graph.columns["depth"], dtype=float)
    return depth(graph.pairs().numpy(), graph.num_nodes)


def _neighbours(graph: Graph) -> dict[int, list[int]]:
    found = defaultdict(list)
    for source, target in graph.edge_index.T.tolist():
        if source != target:
            found[target].append(source)
    return found


def _find(graph: Graph, node: Any) -> int:
    known = [str(one) for one in graph.ids.tolist()]
    if str(node) not in known:
        raise GraphError(
            f"Expected `node` to be the id of a node, such as {known[0]!r}, got {node!r}."
        )
    return known.index(str(node))


def choose_centre(neighbours: dict[int, list[int]], level: np.ndarray) -> int:
    """A node with a node above, one above that, and some below, in a drawable neighbourhood."""

    def merit(node: int) -> tuple[bool, bool, bool, float, int]:
        near = neighbours[node]
        above = [j for j in near if level[j] < level[node]]
        grand = any(level[k] < level[j] for j in above for k in neighbours[j])
        below = len(near) - len(above)
        size = len({k for j in near for k in [j, *neighbours[j]]} - {node}) + 1
        off = max(COMFORTABLE.start - size, size - COMFORTABLE.stop + 1, 0)
        return bool(above), grand, below > 1, -off, -node

    candidates = [node for node in list(neighbours) if neighbours[node]]
    if not candidates:
        raise GraphError("Expected a graph with edges, got none.")
    return max(candidates, key=merit)


def neighbourhood(
    centre: int, neighbours: dict[int, list[int]], level: np.ndarray
) -> Neighbourhood:
    """Two hops around a node, laid out as a tree whose highest node is on top."""
    first = list(dict.fromkeys(neighbours[centre]))
    links = [(centre, j) for j in first]
    seen = {centre, *first}
    second = []
    for j in first:
        for k in dict.fromkeys(neighbours[j]):
            if k not in seen:
                seen.add(k)
                second.append(k)
                links.append((j, k))
    nodes = [centre, *first, *second]
    tree = defaultdict(list)
    for i, j in links:
        tree[i].append(j)
        tree[j].append(i)
    root = min(nodes, key=lambda node: (level[node], node))
    position: dict[int, tuple[float, float]] = {}
    width = 0

    def put(node: int, parent: int | None) -> float:
        nonlocal width
        below = sorted((k for k in tree[node] if k != parent), key=lambda k: (level[k], k))
        if below:
            ends = [put(child, node) for child in below]
            x = (ends[0] + ends[-1]) / 2
        else:
            x = float(width)
            width += 1
        position[node] = (x, -float(level[node]))
        return x

    put(root, None)
    return Neighbourhood(centre, nodes, links, position)


def path_shares(run: Run, around: Neighbourhood) -> dict[tuple[int, int], float]:
    """How much of each node arrives at the centre along its path, by edge (target, source)."""
    before, last = _last_two(run)
    heard = shares_of(last, around.centre)
    shares = {}
    for i, j in around.links:
        if i == around.centre:
            shares[i, j] = heard.get(j, 0.0)
        else:
            shares[i, j] = heard.get(i, 0.0) * shares_of(before, i).get(j, 0.0)
    return shares


def _last_two(run: Run) -> tuple[Attention, Attention]:
    layers = attention_layers(run, run.graph)
    if not layers:
        raise ConfigError(
            "Expected a run with attention (gat, or hgcn with `attention`), got "
            f"{run.config.model} without."
        )
    if len(layers) == 1:
        raise ConfigError("Expected a run of two layers or more, got one.")
    return layers[-2], layers[-1]


def _blues() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("attention", ["#dfe3e8", "#5f9bc9", "#08306b"])


def _draw(
    ax: Axes,
    around: Neighbourhood,
    share: dict[tuple[int, int], float],
    level: np.ndarray,
    top: float,
) -> None:
    colours = _blues()
    for (i, j), weight in sorted(share.items(), key=lambda item: item[1]):
        strength = (weight / top) ** 0.5  # second hops are products: small, but to be told apart
        ends = np.array([around.position[i], around.position[j]])
        ax.plot(*ends.T, color=colours(strength), linewidth=0.9 + 4 * strength, zorder=1 + strength)
    others = [node for node in around.nodes if node != around.centre]
    low, high = min(level[around.nodes]), max(level[around.nodes])
    for node in others:
        # The darker, the higher in the hierarchy.
        grey = 0.25 + 0.6 * (level[node] - low) / max(high - low, 1)
        _dot(ax, around.position[node], str(round(grey, 3)))
    _dot(ax, around.position[around.centre], ORANGE, 11)
    ax.set_axis_off()
    ax.margins(0.06, 0.08)


def _dot(ax: Axes, position: tuple[float, float], color: str, size: float = 8) -> None:
    ax.plot(
        *position, "o", color=color, markersize=size, markeredgecolor="white", markeredgewidth=1.2,
        zorder=4,
    )  # fmt: skip


def _scale(figure: Figure, panels: np.ndarray, top: float) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import PowerNorm

    scale = ScalarMappable(PowerNorm(0.5, 0, top), _blues())
    bar = figure.colorbar(scale, ax=list(panels), shrink=0.5, aspect=24, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8)
    bar.set_label("share that arrives at the orange node", fontsize=8.5, color=INK)
