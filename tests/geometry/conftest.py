import pytest

# The asserts of base classes show their values as those of a test file do.
pytest.register_assert_rewrite("model_case", "model_contract")
