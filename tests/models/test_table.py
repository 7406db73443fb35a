"""Models by name, and what happens with names and options that are not there."""

import subprocess
import sys
from typing import Any

import pytest

import hgcn.models
from hgcn.errors import HGCNError, ModelError
from hgcn.models import MODELS, Encoder, build, options_of

MADE_OF = {
    "gcn": "torch_geometric",
    "gat": "torch_geometric",
    "sage": "torch_geometric",
    "sgc": "torch_geometric",
    "hyp": "geoopt",
    "hyp-mixed": "geoopt",
}


def test_the_table_has_the_rows_of_the_paper_and_free_points() -> None:
    assert set(MODELS) == {
        "euc", "hyp", "euc-mixed", "hyp-mixed", "mlp", "hnn", "gcn", "gat", "sage", "sgc", "hgcn",
        "free",
    }  # fmt: skip
    for name, model in MODELS.items():
        assert issubclass(model, Encoder)
        assert name.replace("-", "") == model.__name__.lower()
        assert getattr(hgcn.models, model.__name__) is model


@pytest.mark.parametrize("name", MODELS)
def test_names_may_be_in_capitals(name: str) -> None:
    encoder = build(name.upper(), 3, num_nodes=5)
    assert type(encoder) is MODELS[name]
    assert (encoder.in_channels, encoder.dim) == (3, 16)


@pytest.mark.parametrize("name", MODELS)
def test_defaults_are_what_a_model_is_built_with(name: str) -> None:
    assert "num_nodes" not in options_of(name)
    build(name, 3, 4, num_nodes=5, **options_of(name))


def test_options_are_listed() -> None:
    assert options_of("gat") == {
        "layers": 2, "heads": 1, "dropout": 0.0, "act": "relu", "last_act": None,
    }  # fmt: skip
    assert list(options_of("hgcn")) == [
        "layers", "c", "trainable_c", "aggregation", "attention", "heads", "symmetric",
        "root_weight", "dropout", "point_dropout", "bias", "act", "last_act", "add_self_loops",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hgnc", {}, r"`model` to be one of 'hgcn', .*, got 'hgnc'\. Did you mean 'hgcn'\?"),
        ("transformer", {}, r"`model` to be one of 'hgcn', .*, got 'transformer'\.$"),
        ("gat", {"head": 2}, r"`option of gat` to be one of 'layers', 'heads'.* mean 'heads'\?"),
        ("mlp", {"c": 1.0, "droput": 0}, r"of mlp.* got 'c'\. .* got 'droput'\. .*'dropout'\?"),
        ("euc", {}, "Expected `num_nodes`, the number of nodes of the graph: euc learns"),
        ("hyp", {"num_nodes": 0}, "`num_nodes` to be a whole number of at least 1, got 0"),
        ("hyp", {"num_nodes": 2, "lr_factor": 0.0}, r"`lr_factor` to be positive, got 0\.0"),
        ("euc", {"num_nodes": 2, "std": -1.0}, r"`std` to be positive, got -1\.0"),
        ("gcn", {"layers": 0, "dropout": 1.0}, r"`layers` to be a .*, got 0\. .*`dropout` .* 1\.0"),
        ("sage", {"layers": 2.0}, r"`layers` to be a whole number of at least 1, got 2\.0"),
        ("sgc", {"dropout": -0.1}, r"`dropout` to be at least 0 and below 1, got -0\.1"),
        ("hnn", {"dropout": 1.5}, r"`dropout` to be at least 0 and below 1, got 1\.5"),
        ("gat", {"heads": 3}, "`dim` to be a multiple of `heads`, got 16 and 3"),
        ("hgcn", {"heads": 0}, "`heads` to be a whole number of at least 1, got 0"),
        ("hgcn", {"aggregation": "locl"}, r"`aggregation` to be .* Did you mean 'local'\?"),
        ("gcn", {"act": "rely"}, r"`act` to be one of .* Did you mean 'relu'\?"),
        ("euc-mixed", {"num_nodes": 2, "layers": 0}, "`layers` to be a whole number"),
    ],
)
def test_mistakes_are_explained(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build(name, 3, **options)


@pytest.mark.parametrize("dim", [0, -1, 1.5])
def test_dim_is_a_count(dim: int) -> None:
    with pytest.raises(ModelError, match="`dim` to be a whole number of at least 1"):
        build("hgcn", 3, dim)


@pytest.mark.parametrize("name", MADE_OF)
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = MADE_OF[name]
    for module in (package, f"{package}.nn"):
        monkeypatch.setitem(sys.modules, module, None)
    kind = MODELS[name].__name__
    message = rf"Expected the package {package}, which the model {kind} .*'hgcn\[baselines\]'$"
    with pytest.raises(HGCNError, match=message):
        build(name, 3, num_nodes=2)


def test_heavy_packages_are_not_imported() -> None:
    light = sorted(set(MODELS) - set(MADE_OF))
    check = f"""
import sys, torch
from hgcn.models import build
for name in {light}:
    encoder = build(name, 3, num_nodes=2)
    encoder(torch.ones(2, 3), torch.tensor([[0], [1]])).sum().backward()
    encoder.make_optimizer().step()
sys.exit(len({{"torch_geometric", "geoopt"}} & set(sys.modules)))
"""
    subprocess.run([sys.executable, "-c", check], check=True)
