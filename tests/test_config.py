import argparse
import os
import tomllib
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hgcn.commands._settings import NOT_FLAGS, add_settings, given_settings
from hgcn.config import TYPES, Config, read_toml
from hgcn.errors import ConfigError
from hgcn.models import options_of
from hgcn.models.predictor import MODEL_OPTIONS, model_settings
from hgcn.names import MODELS
from hgcn.settings import NetworkSettings, Settings

SETTINGS = {setting.name: setting for setting in fields(Config)}


def another_value(name):
    """A value that is allowed, and not the default."""
    setting, kind = SETTINGS[name], TYPES[name]
    if kind is bool:
        return not setting.default
    if setting.metadata["choices"]:
        return next(c for c in setting.metadata["choices"] if c != setting.default)
    if kind is str:
        return {"device": "cuda:1", "fanout": "15,10"}.get(name, 'a "file" of mine.csv')
    value = 0.25 if kind is float else 3
    return value if value != setting.default else 2 * value


def parser():
    made = argparse.ArgumentParser()
    add_settings(made)
    return made


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in NOT_FLAGS])
def test_each_setting_is_a_flag_and_a_key(name, tmp_path):
    value = another_value(name)
    flag = "--" + name.replace("_", "-")
    words = [flag] if value is True else ["--no-" + flag[2:]] if value is False else [flag, value]
    from_flag = given_settings(parser().parse_args([str(word) for word in words]))
    file = tmp_path / "run.toml"
    file.write_text(Config(**{name: value}).to_toml(), encoding="utf-8")
    from_file = read_toml(file)
    assert from_flag == {name: value}
    assert Config(**from_flag) == Config(**from_file) == Config(**{name: value}) != Config()
    assert flag in parser().format_help()


def test_the_source_is_a_key_but_no_flag():
    assert NOT_FLAGS == ("source",)
    assert "--source" not in parser().format_help()


def test_nothing_is_set_by_default():
    assert given_settings(parser().parse_args([])) == {}
    assert Config(**tomllib.loads(Config().to_toml())) == Config()


@given(st.text(st.characters(exclude_categories=("Cs",))), st.floats(1e-300, 1e30))
def test_any_text_and_number_survives_toml(text, number):
    config = Config(source=text, lr=number)
    assert Config(**tomllib.loads(config.to_toml())) == config


def test_numbers_that_torch_cannot_take_are_refused():
    for name, value in (("lr", 1e31), ("r", -1e300), ("layers", 10**13)):
        with pytest.raises(ConfigError, match=f"Expected `{name}` to be between"):
            Config(**{name: value})


def test_all_wrong_values_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        Config(model="hgnc", dim=0, lr="fast", dropout=1.0, attention=1, seed=True, val_share=0.9,
               test_share=0.2, r=float("nan"), epochs=5, pretrain=5)  # fmt: skip
    message = str(caught.value)
    assert len(message.splitlines()) == 9
    assert "got 'hgnc'. Did you mean 'hgcn'?" in message
    assert "Expected `dim` to be at least 1, got 0." in message
    assert "Expected `lr` to be a number, got 'fast'." in message
    assert "Expected `dropout` to be at least 0 and at most 0.99 and finite, got 1.0." in message
    assert "Expected `attention` to be true or false, got 1." in message
    assert "Expected `seed` to be a whole number, got True." in message
    assert "Expected `r` to be finite, got nan." in message
    assert "leave a share for training, got 0.9 and 0.2." in message
    assert "Expected `pretrain` to be below `epochs`, got 5 and 5" in message


def test_flags_are_judged_with_all_other_settings():
    given_ = given_settings(parser().parse_args(["--dim", "x", "--lr", "-1", "--epochs", "1.5"]))
    with pytest.raises(ConfigError) as caught:
        Config(**given_)
    assert str(caught.value).splitlines() == [
        "Expected `dim` to be a whole number, got 'x'.",
        "Expected `epochs` to be a whole number, got '1.5'.",
        "Expected `lr` to be above 0 and finite, got -1.0.",
    ]


@pytest.mark.parametrize("shares", [("a", 0.1), (None, "b"), (0.5, None)])
def test_shares_of_any_kind_are_judged(shares):
    val, test = shares
    if val == 0.5:
        assert Config(val_share=val, test_share=test).val_share == 0.5
    else:
        with pytest.raises(ConfigError, match="_share` to be a number"):
            Config(val_share=val, test_share=test)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"dim = ", "to be TOML"),
        (b"\xff\xfe", "to be TOML"),
        (b"dims = 3\nlayer = 2\n", r"no setting 'dims'. Did you mean 'dim'\?\n.*'layers'\?"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_settings_is_refused_by_name(content, said, tmp_path):
    file = tmp_path / "run.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as caught:
        read_toml(file)
    assert str(file) in str(caught.value)


def test_replace_knows_the_names_and_checks_again():
    with pytest.raises(ConfigError, match="Did you mean 'epochs'"):
        Config().replace(epoch=3)
    with pytest.raises(ConfigError, match="at least 1"):
        Config().replace(epochs=0)


def test_the_keywords_of_type_checkers_are_the_settings():
    """Annotations are text: they must say the same, to the letter."""
    declared = {
        setting.name: setting.type for setting in fields(Config) if setting.name != "source"
    }
    shown = {**NetworkSettings.__annotations__, **Settings.__annotations__}
    assert {name: hint.__forward_arg__ for name, hint in shown.items()} == declared
    assert not Settings.__required_keys__


@pytest.mark.parametrize("model", MODELS)
def test_model_settings_fill_in_exactly_what_the_model_has(model):
    settled = model_settings(Config(model=model))
    known = options_of(model)
    for name in MODEL_OPTIONS:
        assert (getattr(settled, name) is not None) == (name in known), name
    assert model_settings(settled) == settled
    absent = {name: another_value(name) for name in MODEL_OPTIONS if name not in known}
    if absent:
        with pytest.raises(ConfigError) as caught:
            model_settings(Config(model=model, **absent))
        assert len(str(caught.value).splitlines()) == len(absent)


def test_toml_that_is_nested_too_deep_is_refused(tmp_path):
    (tmp_path / "deep.toml").write_text("lr = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="to be TOML"):
        read_toml(tmp_path / "deep.toml")


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, "[[-" + "9" * 5000 + "]]"])
def test_a_number_of_thousands_of_digits_is_refused(tmp_path, number):
    (tmp_path / "long.toml").write_text(f"seed = {number}\n")
    with pytest.raises(ConfigError, match="numbers of at most 4,300 digits, got a longer one"):
        read_toml(tmp_path / "long.toml")


def test_settings_come_from_regular_files_only(tmp_path):
    """A pipe that nobody writes to would be waited for, and a device has no end."""
    os.mkfifo(tmp_path / "pipe.toml")
    for path, kind in (
        (tmp_path / "pipe.toml", "a pipe"), ("/dev/zero", "a device"), (tmp_path, "a folder"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"Expected a regular file of settings, got {kind}"):
            read_toml(path)
