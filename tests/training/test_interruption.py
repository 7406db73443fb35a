"""Signals during training."""

import os
import signal
import threading

import pytest

from hgcn.config import Config
from hgcn.models.predictor import Predictor
from hgcn.training.interruption import held_signals
from hgcn.training.problem import Problem, choose
from small_graphs import tree


def send(number=signal.SIGINT):
    os.kill(os.getpid(), number)
    for _ in range(9):
        pass


def test_a_signal_waits_until_it_is_let_in():
    done = []

    def train(let_in):
        let_in()
        send()
        done.append("step")
        let_in()
        done.append("another step")

    with pytest.raises(KeyboardInterrupt), held_signals() as let_in:
        train(let_in)
    assert done == ["step"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_does_not_wait():
    done = []

    def train():
        send()
        done.append("step")
        send()
        done.append("rest")

    with pytest.raises(KeyboardInterrupt), held_signals():
        train()
    assert done == ["step"]


def test_a_signal_waits_until_a_network_is_built(monkeypatch):
    built = []

    def build(self, *arguments, **options):
        if not built:
            send()
        init(self, *arguments, **options)
        built.append(next(self.parameters()).device.type)

    init = Predictor.__init__
    config = choose(tree(), Config(task="link", dim=2))
    monkeypatch.setattr(Predictor, "__init__", build)
    with pytest.raises(KeyboardInterrupt):
        Problem(tree(), config).predictor()
    assert built == ["meta", "cpu"]  # first its shapes alone


def test_a_signal_is_not_forgotten_at_the_end():
    with pytest.raises(KeyboardInterrupt), held_signals():
        send()


def test_own_handlers_are_called_and_kept():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        own = signal.getsignal(signal.SIGTERM)
        with held_signals() as let_in:
            send(signal.SIGTERM)
            assert heard == []
            let_in()
            assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_without_a_handler_is_left_alone():
    with held_signals():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler


def test_other_threads_hear_no_signals():
    done = []

    def work():
        with held_signals() as let_in:
            let_in()
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
