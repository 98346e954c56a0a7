"""What must be in the environment before jax is imported, and what ran."""

import importlib.metadata
import os
import platform

# Without an accelerator: the CPU backend alone, no question to a metadata server, and parallel compiles that do not
# wait for the lock of a chip that none of them uses. The worker variables keep libtpu from asking for a host name.
_FIXED = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "true",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "PYTHONHASHSEED": "0",
}
_DEFAULTS = {"HOME": "/tmp", "TMPDIR": "/tmp"}

# Accelerator types that libtpu knows for its log line; any of the right generation will do.
_ACCELERATOR_TYPES = {"v4": "v4-8", "v5e": "v5litepod-1", "v5p": "v5p-8", "v6e": "v6e-1", "tpu7x": "tpu7x-2"}

DISTRIBUTIONS = ("jax", "jaxlib", "libtpu", "numpy")


def prepare(chip="", flags=()):
    """`flags`: further arguments for libtpu."""
    for key in ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_COMPILATION_CACHE_DIR", "TPU_LIBRARY_PATH"):
        os.environ.pop(key, None)
    os.environ.update(_FIXED)
    for key, value in _DEFAULTS.items():
        os.environ.setdefault(key, value)
    os.environ["TPU_ACCELERATOR_TYPE"] = _ACCELERATOR_TYPES.get(chip, "v6e-1")
    if flags:
        os.environ["LIBTPU_INIT_ARGS"] = " ".join(flags)


def distribution_version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def describe():
    versions = {name: distribution_version(name) for name in DISTRIBUTIONS}
    return {**versions, "python": platform.python_version(), "platform": "cpu"}
