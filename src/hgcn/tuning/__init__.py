"""The search for good settings on the validation part, by optuna."""

from hgcn.packages import require

require("optuna", "a search")  # all modules here are made of it
