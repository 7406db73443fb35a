"""The search for good settings on the validation part."""
