"""Training to the end: a run as a record, its folder, and how it is made, resumed and repeated."""
