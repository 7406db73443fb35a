"""The whole network: encoder, link decoder and classifier."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from hgcn import kernels
from hgcn.config import Config
from hgcn.errors import ConfigError, ModelError
from hgcn.models.base import Encoder
from hgcn.models.linear import drop
from hgcn.models.propagated import Propagated
from hgcn.models.table import build, options_of
from hgcn.names import CLASSIFIERS
from hgcn.nn import FermiDirac
from hgcn.nn.structure import StructureTerm, pair_facts
from hgcn.sampling import Block
from hgcn.text import near_miss

MODEL_OPTIONS = (
    "layers", "dropout", "point_dropout", "act", "last_act", "c", "trainable_c", "aggregation",
    "attention", "heads", "symmetric", "root_weight", "bias",
)  # fmt: skip
"""Settings that not every model has."""


class Predictor(nn.Module):
    """An encoder, and the decoder and classifier that read its embeddings.

    Args:
        config: settings; those of the model must have been filled in by :func:`model_settings`.
        in_channels: size of each node's features.
        num_nodes: number of nodes of the graph, for shallow models.
        num_classes: number of classes; 0 for no classifier.
        make_heads: makes further heads by name, for an encoder: what a task of one's own learns.
    """

    def __init__(
        self,
        config: Config,
        *,
        in_channels: int,
        num_nodes: int,
        num_classes: int,
        make_heads: Callable[[Encoder], Mapping[str, nn.Module]] | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.feature_dropout = config.feature_dropout or 0.0
        self.node_dropout = config.node_dropout
        options = {
            name: value for name in MODEL_OPTIONS if (value := getattr(config, name)) is not None
        }
        read = config.dim if config.propagation else in_channels
        self.encoder = build(config.model, read, config.dim, num_nodes=num_nodes, **options)
        if config.propagation:
            hops = config.propagation
            self.encoder = Propagated(self.encoder, in_channels=in_channels, hops=hops)
        self.decoder = FermiDirac(config.r, config.t, trainable=bool(config.trainable_decoder))
        self.classifier: nn.Module | None = None
        if num_classes:
            kind = CLASSIFIERS.find(config.classifier)
            self.classifier = kind.of(config.dim, num_classes, self.encoder.curvature)
        self.encoder.trained_nodes = num_nodes
        self.heads = nn.ModuleDict(make_heads(self.encoder) if make_heads else {})
        self.structure = StructureTerm() if config.structure else None
        if config.dtype == "float64":
            self.double()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Sequence[Block],
        edge_weight: Tensor | None = None,
        *,
        pairs: Tensor | None = None,
        facts: Tensor | None = None,
        nodes: Tensor | None = None,
        head: str | None = None,
    ) -> Tensor:
        """Logits of links between pairs of nodes, if pairs are given, else of classes of nodes.

        Training calls the network here and nowhere else, so that a wrapper, such as that of
        ``DistributedDataParallel``, sees every step.

        Args:
            x: features of all nodes.
            edge_index: edges that carry messages; or blocks, for embeddings of their targets.
            edge_weight: their weights.
            pairs: pairs of nodes ``[2, M]``.
            facts: what the nodes of each pair have in common, where the network asks for it.
            nodes: the nodes to classify; by default all.
            head: the name of another head, which is given the embeddings of the nodes, or of both
                ends of the pairs, and whose output is returned.
        """
        z = self.encode(x, edge_index, edge_weight)
        if head is not None:
            ends = [z if nodes is None else z[nodes]] if pairs is None else kernels.ends(z, pairs)
            output: Tensor = self.heads[head](*ends)
            return output
        if pairs is not None:
            return self.links(z, pairs, facts)
        return self.classes(z if nodes is None else z[nodes])

    def encode(
        self,
        x: Tensor,
        edge_index: Tensor | Sequence[Block],
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Embeddings of all nodes; in training, some features or nodes are left out at random."""
        if self.training and self.feature_dropout:
            x = drop(x, self.feature_dropout)
        if self.training and self.node_dropout:
            kept = torch.rand(len(x), device=x.device) >= self.node_dropout
            x = kernels.scale_rows(x, kept / (1 - self.node_dropout))
        if isinstance(edge_index, Tensor):
            return self.encoder.encode(x, edge_index, edge_weight)
        return self.encoder.encode_blocks(x, edge_index)

    def links(self, z: Tensor, pairs: Tensor, facts: Tensor | None = None) -> Tensor:
        """Logits of links between pairs of nodes ``[2, M]``, given embeddings of all nodes.

        ``facts`` are those of :meth:`facts`, and may be left out where the network has no
        structural term.
        """
        logits: Tensor = self.decoder(self.encoder.squared_distance(*kernels.ends(z, pairs)))
        if self.structure is None:
            return logits
        if facts is None:
            raise ModelError("Expected `facts` of the pairs for the structural term, got none.")
        return logits + self.structure(facts)

    def facts(
        self,
        pairs: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        num_nodes: int,
    ) -> Tensor | None:
        """What the nodes of each pair have in common on these edges, for :meth:`links`."""
        if self.structure is None:
            return None
        facts = pair_facts(pairs, edge_index, edge_weight, num_nodes)
        return facts.to(self.structure.out.weight)

    def classes(self, z: Tensor) -> Tensor:
        """Logits of the classes of nodes, given their embeddings."""
        if self.classifier is None:
            raise ConfigError("Expected a model trained for classes, got one trained for links.")
        return self.classifier(z)

    @property
    def device(self) -> torch.device:
        """Where the network is, and so where it is trained and applied, whatever the settings."""
        return next(chain(self.parameters(), self.buffers())).device

    def stamp(self) -> str:
        """A checksum of all weights: what was computed with others is out of date."""
        digest = hashlib.blake2b()
        for value in self.state_dict().values():
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def curvature_values(self) -> list[float]:
        """The number c of each space that has one, from the input to the last layer."""
        return [c for space in self.encoder.spaces for c in space.curvatures]


def model_settings(config: Config) -> Config:
    """Fill in the model's own defaults; settings that it does not have are an error if given."""
    known = options_of(config.model)
    wrong = []
    chosen: dict[str, Any] = {}
    for name in MODEL_OPTIONS:
        given = getattr(config, name)
        if given is None:
            default = known.get(name, "absent")
            if default != "absent":
                chosen[name] = "none" if default is None and name.endswith("act") else default
        elif name not in known:
            wrong.append(f"{config.model} has no setting `{name}`.{near_miss(name, known)}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return config.replace(**chosen)
