"""The audit of installed packages: a known fault fails it, a service out of reach does not."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / ".ci" / "audit.py"
FAULT = {"id": "PYSEC-1", "fix_versions": ["2.0"]}


@pytest.fixture
def audit(monkeypatch):
    """Runs the audit on what the service would say."""
    spec = importlib.util.spec_from_file_location("audit", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def answered(said):
        def run(words, **options):
            if isinstance(said, Exception):
                raise said
            asked = words[words.index("--requirement") + 1].read_text().splitlines()
            assert not [line for line in asked if "+" in line or line.startswith("hgcn==")]
            return subprocess.CompletedProcess(words, 1, stdout=said)

        monkeypatch.setattr(subprocess, "run", run)
        return module.main()

    return answered


def test_a_known_fault_fails(audit, capsys):
    found = [{"name": "numpy", "version": "1.0", "vulns": [FAULT]}, {"name": "x", "vulns": []}]
    assert audit(json.dumps({"dependencies": found})) == 1
    assert capsys.readouterr().out == "audit: numpy 1.0: PYSEC-1; fixed in: 2.0.\n"


@pytest.mark.parametrize("said", ["", "no JSON", subprocess.TimeoutExpired("pip-audit", 1)])
def test_a_service_out_of_reach_is_told(audit, capsys, said):
    assert audit(said) == 0
    assert "could not be reached" in capsys.readouterr().out


def test_packages_that_nobody_knows_are_counted(audit, capsys):
    found = [{"name": "x", "skip_reason": "not found"}, {"name": "y", "version": "1", "vulns": []}]
    assert audit(json.dumps({"dependencies": found})) == 0
    assert "no answer for 1 of" in capsys.readouterr().out
