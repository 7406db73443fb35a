"""How often an attack was tried, how often hgcn held, and the worst that happened."""

import contextlib
import os
import random
import time

FULL = os.environ.get("HGCN_FAULTS") == "full"
SEED = os.environ.get("HGCN_FAULTS_SEED") or "0"


class Tally:
    """The count of one attack.

    Iterating gives the number of each try and a random generator of its own, so that each try is
    the same again for the same seed, whatever the others did.
    """

    def __init__(self, attack, tries):
        self.attack, self.wanted = attack, tries
        self.tries, self.faults, self.note = 0, [], "-"
        self.begin = time.monotonic()

    def __iter__(self):
        for number in range(self.wanted):
            yield number, random.Random(f"{SEED} {self.attack} {number}")

    @contextlib.contextmanager
    def attempt(self, what):
        """One try: any error in it counts as a fault."""
        self.tries += 1
        try:
            yield
        except Exception as error:
            self.faults.append(f"{self.attack}, {what}: {type(error).__name__}: {error}")

    def row(self):
        worst = self.faults[0].splitlines()[0][:300] if self.faults else self.note
        seconds = round(time.monotonic() - self.begin)
        return [self.attack, self.tries, self.tries - len(self.faults), seconds, worst]


def table(rows):
    lines = ["| attack | tries | held | seconds | worst |", "|---|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)
