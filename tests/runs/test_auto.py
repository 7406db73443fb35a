"""The choice of settings in a given time, with a clock that ticks when it is looked at."""

import json
import time
from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hgcn.config import Config, read_toml
from hgcn.errors import ConfigError, DivergenceError, RunError
from hgcn.runs import auto, checkpoint, seeds
from hgcn.runs.auto import NO_CHOICE, TOO_SHORT, choose_settings
from hgcn.runs.fit import fit, resume, settle
from hgcn.runs.folder import AUTO, load_run
from hgcn.runs.seeds import fit_seeds, resume_seeds
from hgcn.runs.workers import Event
from hgcn.training.links import LinkTask
from hgcn.training.loop import train
from hgcn.training.problem import Problem, choose
from small_graphs import QUICK, quick_run, same_weights, touch_pages, tree, write_files

# The package has a function of that name.
fit_module = import_module("hgcn.runs.fit")
LONG: dict[str, Any] = {"task": "link", "epochs": 60, "eval_every": 1, "dim": 3, "structure": False}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A clock that goes on by a step whenever somebody looks at it; no pages, which take long."""
    state = {"now": 0.0, "step": 0.01}

    def monotonic() -> float:
        state["now"] += state["step"]
        return state["now"]

    monkeypatch.setattr(auto, "time", SimpleNamespace(monotonic=monotonic))
    # Real seconds of compiling would be taken off the time of that clock.
    monkeypatch.setattr(auto, "compile_timer", lambda: nullcontext(lambda: 0.0))
    monkeypatch.setattr(fit_module, "_draw", touch_pages)
    return state


def chosen(graph, given=LONG, seconds=1.0, source=None, **options):
    wanted, name = settle(source, given)
    return choose_settings(graph, wanted, given, seconds, preset=name, **options)


def test_half_of_the_candidates_go_on_from_where_they_stopped() -> None:
    graph = tree()
    config, record = chosen(graph, seconds=2.0)
    candidates = record["candidates"]
    assert candidates[0]["settings"] == {}
    assert sorted(one["dropped"] for one in candidates if one["dropped"] is not None) == [
        0, 0, 0, 0, 1, 1, 2,
    ]  # fmt: skip
    best = candidates[record["chosen"]]
    assert best["dropped"] is None
    (second,) = (one for one in candidates if one["dropped"] == 2)
    assert best["val"] >= second["val"]
    assert config == Config(**{**LONG, **best["settings"]})
    epochs = [[one["epochs"] for one in candidates if one["dropped"] == rung] for rung in (0, 1)]
    assert max(epochs[0]) < min(epochs[1])
    # In one go it would have come to the same score.
    problem = Problem(graph, choose(graph, config.replace(epochs=best["epochs"])))
    state = train(problem.task(problem.predictor()))
    assert state.best.score == best["val"]


def test_the_first_candidate_does_not_pay_for_all(
    monkeypatch: pytest.MonkeyPatch, clock: dict[str, float]
) -> None:
    score, calls = LinkTask.score, []

    def slow_at_first(task, part):
        calls.append(part)
        clock["now"] += 0.3 if len(calls) == 1 else 0.0  # what is needed is loaded
        return score(task, part)

    monkeypatch.setattr(LinkTask, "score", slow_at_first)
    monkeypatch.setattr(auto, "PORTFOLIO", {"link": ({}, {"dropout": 0.2})})
    record = chosen(tree(), {**LONG, "eval_every": 5})[1]
    first, second = (one["epochs"] for one in record["candidates"])
    assert abs(first - second) <= 6
    assert record["spent"] == pytest.approx(1.0, abs=0.1)


def test_the_first_candidate_is_among_the_last_two(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = choose(tree(), Config(**LONG))

    def score(task, part):
        return 0.5 if task.config == plain else 0.6

    monkeypatch.setattr(LinkTask, "score", score)
    record = chosen(tree(), seconds=2.0)[1]
    assert record["candidates"][0]["dropped"] == 2
    assert record["chosen"] == 1
    assert record["candidates"][1]["settings"]["hidden_share"] == 0.1


def test_candidates_have_no_test_part(monkeypatch: pytest.MonkeyPatch) -> None:
    splits, parts = [], set()

    def look(task, **options):
        splits.append(task.parts)
        return train(task, **options)

    def score(task, part):
        parts.add(part)
        return 0.5

    monkeypatch.setattr(auto, "train", look)
    monkeypatch.setattr(LinkTask, "score", score)
    chosen(tree())
    assert len(splits) > 8
    assert all(split is splits[0] for split in splits)  # one split for all
    assert splits[0].test.positives.numel() == splits[0].test.negatives.numel() == 0
    assert parts == {"val"}


def test_progress_is_told_and_the_time_is_kept(clock: dict[str, float]) -> None:
    seen: list[auto.Choosing] = []
    _, record = chosen(tree(), seconds=2.0, on_auto=seen.append)
    assert (seen[0].rung, seen[0].candidates) == (0, 8)
    assert {(one.rung, one.candidates) for one in seen} == {(0, 8), (1, 4), (2, 2)}
    assert {one.candidate for one in seen if one.rung == 0} == set(range(1, 9))
    assert seen[-1].best == max(one["val"] for one in record["candidates"])
    assert 0 <= seen[-1].seconds_left < seen[0].seconds_left < 2
    assert 1.9 < record["spent"] < 2.5
    assert sum(one["seconds"] for one in record["candidates"]) <= record["spent"]


def test_compiling_is_not_on_the_clock(monkeypatch: pytest.MonkeyPatch, clock) -> None:
    class Compiler:
        """Nearly all of each step of the clock is spent on compiling."""

        def __enter__(self):
            return lambda: 0.99 * clock["now"]

        def __exit__(self, *error: object) -> None:
            pass

    clock["step"] = 1.0
    assert chosen(tree())[1]["note"] == TOO_SHORT
    monkeypatch.setattr(auto, "compile_timer", Compiler)
    clock["now"] = 0.0
    record = chosen(tree(), seconds=0.1)[1]
    assert record["note"] == ""


def test_given_settings_are_never_overruled() -> None:
    given = {**LONG, "model": "gcn", "lr": 0.005, "hidden_share": 0.2}
    config, record = chosen(tree(), given, seconds=1.0)
    assert {name: getattr(config, name) for name in given} == given
    tried = [one["settings"] for one in record["candidates"]]
    assert tried == [
        {}, {"layers": 1}, {"dropout": 0.2, "feature_dropout": 0.3}, {"weight_decay": 1e-3},
        {"layers": 1, "feature_dropout": 0.3},
    ]  # fmt: skip
    # Another model has no attention.
    given = {**LONG, "attention": True}
    tried = [one["settings"] for one in chosen(tree(), given, seconds=1e-9)[1]["candidates"]]
    assert not any("model" in settings or "attention" in settings for settings in tried)


def test_where_all_is_given_there_is_nothing_to_choose() -> None:
    whole = choose(tree(), Config(**{**LONG, **QUICK}))
    run = fit(tree(), config=whole, auto=60)
    assert run.metrics["auto"]["note"] == NO_CHOICE
    assert [one["epochs"] for one in run.metrics["auto"]["candidates"]] == [0]
    assert run.config == whole


@pytest.mark.parametrize("task", ["link", "node"])
def test_no_candidate_is_wrong(task: str) -> None:
    for settings in (*auto.PORTFOLIO[task], *auto.ANY):
        problem = Problem(tree(), choose(tree(), Config(task=task, **settings)))
        assert problem.predictor().encoder is not None
    assert auto.PORTFOLIO[task][0] == auto.ANY[0] == {}


def test_a_time_too_short_takes_the_first_and_says_so(clock: dict[str, float]) -> None:
    clock["step"] = 0.5
    config, record = chosen(tree())
    assert record["note"] == TOO_SHORT
    assert (record["chosen"], config) == (0, Config(**LONG))
    assert record["candidates"][-1]["epochs"] == 0


def test_a_candidate_that_fails_drops_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(task, **options):
        if task.config.lr == 0.04:
            raise DivergenceError("The loss is nan in epoch 1.")
        if task.config.model == "sage":
            raise MemoryError
        state = train(task, **options)
        if task.config.hidden_share == 0.1:
            state.stopped = "The loss is nan in epoch 9."
        return state

    monkeypatch.setattr(auto, "train", fail)
    _, record = chosen(tree(), {**LONG, "epochs": 4}, seconds=2.0)
    errors = [one["error"] for one in record["candidates"]]
    assert [bool(error) for error in errors] == [False, True, False, False, False, True, True, True]
    assert errors[1] == "The loss is nan in epoch 9."
    assert "memory" in errors[7]
    assert not errors[record["chosen"]]
    monkeypatch.setattr(auto, "train", lambda task, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # a fault of hgcn is not one of the candidate
        chosen(tree())


def test_an_interruption_ends_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(task, **options):
        state = train(task)
        state.stopped = "interrupted"
        return state

    monkeypatch.setattr(auto, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chosen(tree(), {**LONG, "epochs": 2})


def test_the_winner_is_trained_as_its_config_says(tmp_path) -> None:
    edges = write_files(tmp_path, tree())[0]
    run = fit(edges, out=tmp_path / "run", auto=1.0, **{**QUICK, "structure": False})
    record = run.metrics["auto"]
    assert json.loads((tmp_path / "run" / AUTO).read_text()) == record
    assert load_run(tmp_path / "run").metrics["auto"] == record
    settings = read_toml(tmp_path / "run" / "config.toml")
    assert settings.items() >= record["candidates"][record["chosen"]]["settings"].items()
    source = settings.pop("source")
    again = fit(source, out=tmp_path / "again", **settings)
    assert same_weights(run, again)
    for name in ("config.toml", "history.csv", "model.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert not (tmp_path / "again" / AUTO).exists()
    # A choice can be used once more.
    assert same_weights(run, fit(edges, auto=record, **{**QUICK, "structure": False}))
    (tmp_path / "run" / AUTO).write_text("{}")
    with pytest.raises(RunError, match=r"auto\.json as the run left it"):
        load_run(tmp_path / "run")
    (tmp_path / "run" / AUTO).unlink()
    with pytest.raises(RunError, match=r"auto\.json"):
        load_run(tmp_path / "run")


@pytest.mark.parametrize(
    "auto_", [0, -1.0, float("nan"), float("inf"), True, "60", {}, {"chosen": 0}]
)
def test_what_is_no_time_is_refused(auto_: Any) -> None:
    with pytest.raises(ConfigError, match="Expected `auto` to be"):
        quick_run(auto=auto_)


@pytest.mark.parametrize(
    "change",
    [
        {"chosen": 8}, {"chosen": -1}, {"chosen": 0.5}, {"note": None}, {"candidates": [1]},
        {"candidates": [{"settings": {}}]},
    ],
)  # fmt: skip
def test_records_of_another_form_are_refused(change: dict[str, Any]) -> None:
    one = {"preset": "", "settings": {}, "epochs": 1, "val": None, "dropped": None, "seconds": 1.0,
           "error": ""}  # fmt: skip
    record = {"seconds": 1.0, "spent": 1.0, "select": "ap", "chosen": 0, "note": ""}
    run = quick_run(auto={**record, "candidates": [one]})
    assert run.metrics["auto"] == {**record, "candidates": [one]}
    with pytest.raises(ConfigError, match="got another form"):
        quick_run(auto={**record, "candidates": [one], **change})
    with pytest.raises(ConfigError, match="no setting 'layer'"):
        quick_run(auto={**record, "candidates": [{**one, "settings": {"layer": 1}}]})


def test_a_run_goes_on_with_what_was_chosen(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)

    def stop(progress) -> None:
        if progress.epoch == 4:
            raise SystemExit

    edges, settings = write_files(tmp_path, tree())[0], {**QUICK, "structure": False}
    with pytest.raises(SystemExit):
        fit(edges, out=tmp_path / "run", auto=1.0, on_epoch=stop, **settings)
    record = json.loads((tmp_path / "run" / AUTO).read_text())
    changed = {**record, "note": "Another one."}
    (tmp_path / "run" / AUTO).write_text(json.dumps(changed))
    with pytest.raises(RunError, match="Expected the candidates that"):
        resume(tmp_path / "run")
    (tmp_path / "run" / AUTO).write_text(json.dumps(record, indent=2) + "\n")
    run = resume(tmp_path / "run")
    assert run.metrics["auto"] == record
    assert same_weights(run, fit(edges, auto=record, **settings))


def test_a_preset_is_the_first_candidate_and_fills_no_gap_of_another(tmp_path) -> None:
    given = {"task": "node", "epochs": 2, "eval_every": 1, "dim": 2}
    wanted, name = settle("disease", given)
    assert name == "disease-node-hgcn"
    graph = fit_module.load_graph(wanted)
    record = choose_settings(graph, wanted, given, 1e-9, preset=name)[1]
    first, second, *others = record["candidates"]
    assert first["preset"] == name
    assert Config(source="disease", **given).replace(**first["settings"]) == wanted
    assert (second["preset"], second["settings"]) == ("", {})
    assert all(one["preset"] == "" for one in others)
    run = fit("disease", out=tmp_path / "run", auto={**record, "chosen": 1}, **given)
    assert run.metrics["preset"] == ""
    assert run.config == choose(graph, Config(source="disease", **given))
    assert fit("disease", config=tmp_path / "run" / "config.toml").config == run.config
    run = fit("disease", auto=record, **given)
    assert (run.metrics["preset"], run.config) == (name, choose(graph, wanted))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds are trained in this process; those of the list are interrupted."""
    stop: list[int] = []

    def one_process(jobs, processes):
        for job in jobs:
            yield Event(job.key, "started")
            if job.key in stop:
                raise KeyboardInterrupt
            yield Event(job.key, "done", job.function(None, *job.arguments))

    monkeypatch.setattr(seeds, "work", one_process)
    return stop


def test_seeds_share_one_choice(tmp_path, here: list[int], monkeypatch) -> None:
    calls = []

    def once(*arguments, **options):
        calls.append(arguments[1].seed)
        return choose_settings(*arguments, **options)

    monkeypatch.setattr(seeds, "choose_settings", once)
    edges, out = write_files(tmp_path, tree())[0], tmp_path / "runs"
    settings = {**QUICK, "structure": False, "seed": 3}
    here.append(4)
    state = fit_seeds(edges, 2, out=out, auto=1.0, **settings)
    assert state.interrupted
    here.clear()
    record = json.loads((out / AUTO).read_text())
    state = resume_seeds(out)
    assert (calls, state.missing) == ([3], [])
    assert json.loads((out / "metrics.json").read_text())["auto"] == record
    runs = [load_run(out / f"seed-{seed}") for seed in (3, 4)]
    for run in runs:
        assert run.metrics["auto"] == record
        assert same_weights(run, fit(edges, auto=record, **{**settings, "seed": run.config.seed}))
    assert fit_seeds(edges, 2, out=out, auto=99.0, **settings).auto == record  # and goes on with it
    assert calls == [3]
    with pytest.raises(ConfigError, match="`dim` was 3 and is 5 now"):
        fit_seeds(edges, 2, out=out, auto=1.0, **{**settings, "dim": 5})
    fit_seeds(edges, 1, out=tmp_path / "plain", **settings)
    with pytest.raises(ConfigError, match="were begun without"):
        fit_seeds(edges, 1, out=tmp_path / "plain", auto=1.0, **settings)


def test_real_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "time", time)
    begun = time.monotonic()
    record = chosen(tree(), {**LONG, "epochs": 100_000, "patience": 100_000}, seconds=1.0)[1]
    assert 1.0 <= record["spent"] <= time.monotonic() - begun
    assert torch.get_num_threads() >= 1
    assert (record["note"], record["seconds"]) in {("", 1.0), (TOO_SHORT, 1.0)}
