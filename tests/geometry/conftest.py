import pytest

# The asserts of a base class show their values as those of a test file do.
pytest.register_assert_rewrite("model_contract")
