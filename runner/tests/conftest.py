import os
import sys

RUNNER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [RUNNER, os.path.join(RUNNER, "tools"), os.path.dirname(os.path.abspath(__file__))]

from maxkernel_runner import environment  # noqa: E402

environment.prepare(chip="v6e")

import pytest  # noqa: E402

import workshop  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than ten seconds")


@pytest.fixture(scope="session")
def softmax(tmp_path_factory):
    """A small task whose reference has been run; candidates are judged against it."""
    return workshop.Workshop(tmp_path_factory.mktemp("softmax"), workshop.SOFTMAX_FILES, workshop.softmax_config())
