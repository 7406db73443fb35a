"""Bring your own graph: an edge list and a table of people, from files to a hyperbolic embedding.

Two files are written and read back: friendships by name, and what is known about the people, with a
missing age. A layer of hgcn then takes the graph as it is. Run it with

    python examples/own_graph.py
"""

import tempfile
from pathlib import Path

import torch

from hgcn.data import normalise_rows, read, standardise
from hgcn.nn import HGCNConv

FRIENDS = """person,friend,weight
ann,bob,3
bob,cem,1
cem,ann,2
cem,dan,1
dan,eva,5
eva,dan,5
eva,eva,1
"""

PEOPLE = """person,age,city,team
ann,31,Bonn,red
bob,,Rome,red
cem,45,Bonn,blue
dan,27,Oslo,blue
eva,38,Rome,
fay,52,Oslo,red
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        friends, people = Path(folder) / "friends.csv", Path(folder) / "people.csv"
        friends.write_text(FRIENDS)
        people.write_text(PEOPLE)
        graph = read(friends, features=people, labels="team")

    print(graph)
    for note in graph.notes:
        print("-", note)
    print("ids:     ", ", ".join(graph.ids))
    print("features:", ", ".join(graph.feature_names or ()))
    print("classes: ", ", ".join(graph.class_names or ()))

    # Scales come from the people with a known team alone, as they would in training.
    known = torch.arange(graph.num_nodes)[graph.y >= 0]
    graph = standardise(graph, known)

    torch.manual_seed(0)
    conv = HGCNConv(graph.num_features, 2)
    with torch.no_grad():
        points = conv(graph.x, graph.edge_index, graph.edge_weight)
    for name, point in zip(graph.ids, points.tolist(), strict=True):
        print(f"{name}: ({point[0]:+.2f}, {point[1]:+.2f})")

    # PyTorch Geometric takes the graph, and everything here takes a Data.
    data = graph.to_pyg()
    print(data)
    print(normalise_rows(data))


if __name__ == "__main__":
    main()
