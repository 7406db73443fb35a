"""The exceptions that hgcn raises on purpose.

``except HGCNError`` catches all of them. Each one is also the built-in exception that fits, so code
that expects a ``ValueError`` keeps working.
"""

__all__ = ["GeometryError", "HGCNError"]


class HGCNError(Exception):
    """The base of every error of this package."""


class GeometryError(HGCNError, ValueError):
    """A point, tangent vector or curvature that no hyperbolic space can take."""
