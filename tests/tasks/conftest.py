import os
import pathlib
import sys

# Before jax is imported: it must neither look for a chip nor ask a metadata server for one.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
