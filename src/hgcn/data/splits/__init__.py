"""Training, validation and test parts of the edges, of the nodes or of whole graphs."""

from hgcn.data.splits.draw import split_links, split_nodes
from hgcn.data.splits.links import LinkPart, LinkSplit
from hgcn.data.splits.nodes import NodeSplit

__all__ = ["LinkPart", "LinkSplit", "NodeSplit", "split_links", "split_nodes"]
