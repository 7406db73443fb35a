"""Data sets by name: downloaded, simulated or registered."""

from hgcn.data.datasets.dataset import Dataset
from hgcn.data.datasets.table import DATASETS, find_dataset, is_present, load_dataset

__all__ = ["DATASETS", "Dataset", "find_dataset", "is_present", "load_dataset"]
