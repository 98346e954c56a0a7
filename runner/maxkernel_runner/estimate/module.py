"""From bytes to MLIR: the exported StableHLO module and the Mosaic modules inside its custom calls."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from jax import export
from jax._src.interpreters import mlir
from jax._src.lib import tpu
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

KERNEL_TARGET = "tpu_custom_call"
_PORTABLE_ARTIFACT_MAGIC = b"ML\xefR"


@dataclass
class LoadedModule:
  context: ir.Context
  module: ir.Module
  main: ir.Operation
  argument_positions: list[int | None]  # per argument of main its place in the flat list of inputs; None for a platform index
  inputs: int


def _make_context() -> ir.Context:
  context = mlir.make_ir_context()
  tpu.register_dialect(context)
  context.allow_unregistered_dialects = True
  return context


def _artifact_and_positions(data: bytes) -> tuple[bytes, list[int] | None, int | None]:
  if data[:4] == _PORTABLE_ARTIFACT_MAGIC:
    return data, None, None
  try:
    exported = export.deserialize(bytearray(data))
  except Exception as error:  # flatbuffers raises whatever the corruption happens to hit
    raise ValueError(f"not a serialized jax.export module: {type(error).__name__}: {str(error)[:200]}") from error
  return exported.mlir_module_serialized, list(exported.module_kept_var_idx), len(exported.in_avals)


def load(data: bytes) -> LoadedModule:
  """Raises ValueError when the bytes are no module."""
  if not isinstance(data, (bytes, bytearray, memoryview)) or len(data) < 16:
    raise ValueError("not a module: expected the bytes of a serialized jax.export module or StableHLO artifact")
  artifact, kept, inputs = _artifact_and_positions(bytes(data))
  context = _make_context()
  with context, ir.Location.unknown():
    try:
      module = stablehlo.deserialize_portable_artifact(context, artifact)
    except Exception as error:
      raise ValueError(f"not a StableHLO portable artifact: {str(error)[:200]}") from error
    main = next((op for op in module.body.operations if op.operation.name == "func.func" and op.sym_name.value == "main"), None)
    if main is None:
      raise ValueError("not a module: it has no function main")
  count = len(main.regions[0].blocks[0].arguments)
  if kept is None:
    kept = list(range(count))
  positions: list[int | None] = [None] * (count - len(kept)) + list(kept)
  return LoadedModule(context, module, main.operation, positions, count if inputs is None else inputs)


@dataclass
class KernelCall:
  """The parts of a custom call's configuration that change what the compiler builds."""

  module: ir.Module
  vmem_limit_bytes: int | None
  internal_scratch_bytes: int
  flags: dict[str, object]


def decode_kernel(backend_config: str, context: ir.Context) -> KernelCall:
  """Raises ValueError when the configuration holds no readable kernel."""
  try:
    config = json.loads(backend_config)
    call = config["custom_call_config"]
    body = base64.b64decode(call["body"], validate=True)
  except (ValueError, KeyError, TypeError, binascii.Error) as error:
    raise ValueError(f"backend_config of {KERNEL_TARGET} is not readable: {error}") from error
  with context, ir.Location.unknown():
    try:
      module = ir.Module.parse(body)
      PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(module.operation)
    except Exception as error:
      raise ValueError(f"body of {KERNEL_TARGET} is not a Mosaic module: {str(error)[:300]}") from error
  limits = [m.get("size") for m in config.get("scoped_memory_configs", []) if m.get("memory_space") == 1]
  flags = {f.get("flag_type"): next(iter(f.get("value", {}).values()), None) for f in config.get("flag_configs", [])}
  return KernelCall(module, limits[0] if limits else None, int(call.get("internal_scratch_in_bytes", 0)), flags)
