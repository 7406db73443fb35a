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
    "PackageError",
    "RunError",
    "explain",
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


class PackageError(HGCNError, ImportError):
    """A package that a part of hgcn needs, and that is not installed."""


class LegacyWarning(UserWarning):
    """A known fault of the reference implementation is in use because it was asked for."""


class ConfigError(HGCNError, ValueError):
    """Settings that no run can have."""


class RunError(HGCNError, ValueError):
    """A run folder that cannot be written, read or used as asked."""


class DivergenceError(HGCNError, ArithmeticError):
    """Weights that have grown until the numbers of a network are no longer finite."""


NO_MEMORY = ("allocate memory", "out of memory", "bad_alloc", "could not spawn threads")
"""What other packages say when there is not enough memory."""


def explain(error: BaseException) -> str:
    """What to tell a user of an error, also of one that nobody foresaw.

    Example:
        >>> explain(GraphError("Expected two rows, got three."))
        'Expected two rows, got three.'
    """
    text = str(error) or type(error).__name__
    if isinstance(error, HGCNError):
        return text
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"Expected to read or write a file, but: {error.strerror or error}{where}."
    if isinstance(error, MemoryError) or any(words in text for words in NO_MEMORY):
        return (
            "There is not enough memory for this. Try a smaller `dim`, fewer `negatives` or "
            "features, or a smaller graph."
        )
    return (
        f"A fault of hgcn: {type(error).__name__}: {text.splitlines()[0]}. Please report it, with "
        "what HGCN_TRACEBACK=1 shows."
    )


class DerivativeError(HGCNError, RuntimeError):
    """A derivative that is not computed."""
