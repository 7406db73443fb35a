"""The exceptions that hgcn raises on purpose.

``except HGCNError`` catches all of them. Each one is also the built-in exception that fits, so code
that expects a ``ValueError`` keeps working.
"""

__all__ = [
    "ConfigError",
    "DataError",
    "DerivativeError",
    "DivergenceError",
    "GeometryError",
    "GraphError",
    "HGCNError",
    "LegacyWarning",
    "ModelError",
    "RunError",
]


class HGCNError(Exception):
    """The base of every error of this package."""


class GeometryError(HGCNError, ValueError):
    """A point, tangent vector or curvature that no hyperbolic space can take."""


class GraphError(HGCNError, ValueError):
    """Edges, weights or features that do not make a graph."""


class ModelError(HGCNError, ValueError):
    """A layer or model that cannot be built as asked."""


class DataError(HGCNError, ValueError):
    """A file, table or download that cannot be read as a graph."""


class LegacyWarning(UserWarning):
    """A known fault of the reference implementation is in use because it was asked for."""


class ConfigError(HGCNError, ValueError):
    """Settings that no run can have."""


class RunError(HGCNError, ValueError):
    """A run folder that cannot be written, read or used as asked."""


class DivergenceError(HGCNError, ArithmeticError):
    """Weights that have grown until the numbers of a network are no longer finite."""


class DerivativeError(HGCNError, RuntimeError):
    """A derivative that is not computed."""
