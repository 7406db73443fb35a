"""Shallow embeddings: one learnt vector for each node of one graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import torch
from torch import Tensor, nn

from hgcn import geometry
from hgcn.errors import GraphError
from hgcn.geometry import Curvature
from hgcn.models.base import Encoder, check_options
from hgcn.models.optim import Adam, CombinedOptimizer
from hgcn.models.row_descent import RowDescent


class Shallow(Encoder):
    """An embedding for each node."""

    inductive = False
    embedding: nn.Parameter

    def __init__(
        self,
        in_channels: int,
        dim: int,
        *,
        num_nodes: int,
        layers: int = 0,
        curvature: Curvature | None = None,
    ) -> None:
        check_options(in_channels=in_channels, dim=dim, num_nodes=num_nodes)
        super().__init__(in_channels, dim, layers=layers, curvature=curvature)
        self.num_nodes = num_nodes

    def _check_nodes(self, x: Tensor) -> None:
        if len(x) != self.num_nodes:
            raise GraphError(
                f"Expected the {self.num_nodes} nodes that {type(self).__name__} was built for, "
                f"got {len(x)}. A shallow embedding has no vectors for other nodes."
            )

    def _beside_adam(
        self,
        own: torch.optim.Optimizer,
        lr: float,
        weight_decay: float,
        also: Iterable[nn.Module],
    ) -> torch.optim.Optimizer:
        """An optimiser of the embedding, and Adam for everything else."""
        groups = self._parameter_groups(weight_decay, also)
        for group in groups:
            group["params"] = [p for p in group["params"] if p is not self.embedding]
        groups = [group for group in groups if group["params"]]
        return CombinedOptimizer(own, Adam(groups, lr=lr)) if groups else own


class Vectors(Shallow):
    """A plain vector for each node, trained by the optimiser of all weights."""

    def __init__(
        self,
        in_channels: int,
        dim: int,
        *,
        num_nodes: int,
        std: float,
        curvature: Curvature | None = None,
    ) -> None:
        check_options(std=std)
        super().__init__(in_channels, dim, num_nodes=num_nodes, curvature=curvature)
        self.embedding = nn.Parameter(std * torch.randn(num_nodes, dim))

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        self._check_nodes(x)
        # A copy, because optimisers change the parameter in place.
        return [self.embedding.clone()]


class Poincare(Shallow):
    """An embedding for each node in the Poincaré ball, trained by Riemannian descent."""

    package = "geoopt"

    def __init__(
        self,
        in_channels: int,
        dim: int,
        *,
        num_nodes: int,
        c: float,
        std: float,
        lr_factor: float | None,
        layers: int = 0,
        curvature: Curvature | None = None,
    ) -> None:
        super().__init__(in_channels, dim, num_nodes=num_nodes, layers=layers, curvature=curvature)
        self.lr_factor = float(num_nodes) if lr_factor is None else lr_factor
        check_options(std=std, lr_factor=self.lr_factor)
        geoopt = self.imported()
        # In float64, as geoopt recommends: in float32 it keeps points within a radius of 6.2.
        start = geometry.to_ball(std * torch.randn(num_nodes, dim, dtype=torch.float64), c=c)
        manifold = geoopt.PoincareBall(torch.tensor(c, dtype=torch.float64))
        self.embedding = geoopt.ManifoldParameter(start, manifold=manifold)

    def _logarithm(self, c: Tensor) -> Tensor:
        return geometry.from_ball(self.embedding, c=c).to(c.dtype)

    def make_optimizer(
        self, lr: float = 0.01, weight_decay: float = 0.0, *, also: Iterable[nn.Module] = ()
    ) -> torch.optim.Optimizer:
        """Riemannian gradient descent for the embedding, Adam for everything else.

        Descent is made with ``lr * lr_factor``; see the class. Weight decay of the embedding is not
        multiplied: with many nodes it would overshoot the origin.

        Args:
            lr: learning rate.
            weight_decay: factor of the L2 penalty.
            also: other modules to train, such as the decoder.
        """
        geoopt = self.imported()
        descent: torch.optim.Optimizer = geoopt.optim.RiemannianSGD(
            [self.embedding],
            lr=lr * self.lr_factor,
            weight_decay=weight_decay / self.lr_factor,
        )
        return self._beside_adam(descent, lr, weight_decay, also)


@final
class Euc(Vectors):
    """Euclidean embeddings: a vector for each node. Features and edges are not used.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding.
        num_nodes: number of nodes of the graph.
        std: standard deviation of each coordinate at the start.

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> Euc(4, 2, num_nodes=3)(x, edge_index).shape
        torch.Size([3, 2])
    """

    def __init__(
        self, in_channels: int, dim: int = 16, *, num_nodes: int, std: float = 0.1
    ) -> None:
        super().__init__(in_channels, dim, num_nodes=num_nodes, std=std)


@final
class Hyp(Poincare):
    """Poincaré embeddings of Nickel and Kiela (2017). Features and edges are not used.

    A point of the ball for each node, in float64, trained with geoopt's ``RiemannianSGD``. The
    output is in normal coordinates like that of every hyperbolic encoder.

    Gradient descent, unlike Adam, is slow where gradients are small, and in a mean over all edges
    each node has a share of about one over the number of nodes. The learning rate is therefore
    multiplied by ``lr_factor``, so that the rates that suit other models suit this one.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding.
        num_nodes: number of nodes of the graph.
        c: the space has sectional curvature ``-c``. It is not trained.
        std: standard deviation of each normal coordinate at the start.
        lr_factor: factor of the learning rate; by default the number of nodes.

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> Hyp(4, 2, num_nodes=3)(x, edge_index).shape
        torch.Size([3, 2])
    """

    curvature: Curvature

    def __init__(
        self,
        in_channels: int,
        dim: int = 16,
        *,
        num_nodes: int,
        c: float = 1.0,
        std: float = 0.1,
        lr_factor: float | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            dim,
            num_nodes=num_nodes,
            c=c,
            std=std,
            lr_factor=lr_factor,
            curvature=Curvature(c, trainable=False),
        )

    def _encode(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> list[Tensor]:
        self._check_nodes(x)
        return [self._logarithm(self.curvature())]


@final
class Free(Vectors):
    """A free point of hyperbolic space for each node. Features and edges are not used.

    Points are in normal coordinates and trained as plain vectors. The Poincaré embeddings
    of Nickel and Kiela (2017) and the Lorentz embeddings of 2018 are points of the same space in
    two other coordinates: ``run.embeddings(coordinates="ball")`` and ``"hyperboloid"``.

    Args:
        in_channels: size of each node's features.
        dim: size of each embedding.
        num_nodes: number of nodes of the graph.
        c: the space has sectional curvature ``-c``. It is not trained: a change of it is a change
            of the unit of length.
        std: standard deviation of each coordinate at the start.

    Example:
        >>> x, edge_index = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> Free(4, 2, num_nodes=3)(x, edge_index).shape
        torch.Size([3, 2])
    """

    curvature: Curvature

    def __init__(
        self,
        in_channels: int,
        dim: int = 16,
        *,
        num_nodes: int,
        c: float = 1.0,
        std: float = 0.01,
    ) -> None:
        curvature = Curvature(c, trainable=False)
        super().__init__(in_channels, dim, num_nodes=num_nodes, std=std, curvature=curvature)

    def make_optimizer(
        self, lr: float = 0.01, weight_decay: float = 0.0, *, also: Iterable[nn.Module] = ()
    ) -> torch.optim.Optimizer:
        """Descent with a step size for each point, Adam for everything else.

        Args:
            lr: learning rate: about how far a point moves in a step that it has a gradient in.
            weight_decay: factor of the L2 penalty.
            also: other modules to train, such as the score.
        """
        own = RowDescent(self.embedding, lr=lr, weight_decay=weight_decay)
        return self._beside_adam(own, lr, weight_decay, also)
