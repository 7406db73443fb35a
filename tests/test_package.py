import subprocess
import sys
from importlib import metadata

import pytest

import hgcn
from hgcn.errors import GeometryError, HGCNError


def test_version_is_the_installed_one() -> None:
    assert hgcn.__version__ == metadata.version("hgcn")


@pytest.mark.parametrize("name", hgcn.__all__)
def test_public_names_exist(name: str) -> None:
    assert getattr(hgcn, name) is not None
    assert name in dir(hgcn)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'geometri'"):
        _ = hgcn.geometri


@pytest.mark.parametrize(
    ("statement", "imports_torch"),
    [
        ("import hgcn; hgcn.__version__; hgcn.errors", False),
        ("import hgcn; hgcn.geometry", True),
        ("from hgcn import geometry", True),
    ],
)
def test_torch_is_imported_only_when_needed(statement: str, imports_torch: bool) -> None:
    check = f"{statement}; import sys; sys.exit(('torch' in sys.modules) != {imports_torch})"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_an_old_name_still_works_and_says_the_new_one() -> None:
    """As docs/stability.md promises; the line that is told of is the user's own."""
    with pytest.warns(DeprecationWarning, match="is called `ProjectionLoss` now") as told:
        from hgcn.viewer import Distortion
    assert Distortion is hgcn.viewer.ProjectionLoss
    with pytest.warns(DeprecationWarning, match="Distortion") as again:
        assert hgcn.viewer.Distortion is Distortion
    assert {warning.filename for warning in (*told, *again)} == {__file__}
    assert "Distortion" not in hgcn.viewer.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Distortions'"):
        _ = hgcn.viewer.Distortions


def test_data_is_read_without_numba() -> None:
    check = "import hgcn.data, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_errors_are_one_family() -> None:
    assert issubclass(GeometryError, HGCNError)
    assert issubclass(GeometryError, ValueError)
