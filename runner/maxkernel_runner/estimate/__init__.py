"""Fidelity `estimate`: a modelled device time of an exported TPU program.

The time is computed from the exported module alone. Candidate Python never runs here, and nothing that a candidate can write
freely (`cost_estimate`, `metadata`, names) enters a figure.

    estimate(module, *, arguments, hardware) -> dict

- `module`: the bytes of `jax.export.Exported.serialize()`, or of a StableHLO portable artifact.
- `arguments`: the flat list of the exported function's inputs. An entry is a numpy array where its values are known (small integer
  arrays: group sizes, page tables, lengths) and None where only the type is known. An empty list means that no value is known.
- `hardware`: `{"chip": <entry of the hardware file>, "common": <its common section>}`.

Result:

    {"time_s": float | None,      # modelled time of one call on one jax device; None when it cannot be modelled
     "low_s": float | None,       # an interval around time_s, or the range between the best and the worst case of unknown values
     "high_s": float | None,
     "absent": str,               # why there is no time; "" when there is one
     "flags": [str, ...],         # what weakens the figure, for instance "unknown_op:tpu.sort"
     "model_version": "1",
     "kernels": [{"name", "steps", "time_s", "bytes", "flops", "vmem_bytes", "bound_by"}],
                                  # bound_by: "matrix" | "vector" | "memory" | "overhead"; time_s covers all runs of the kernel
     "facts": {str: number}}      # flat totals

Raises ValueError only for bytes that are not a module. Whatever else goes wrong is an `absent` with its reason.

Layers, each usable alone: `module` reads bytes, `graph` flattens StableHLO, `scalars` computes small operands on the CPU, `mosaic`
decodes kernel bodies, `walk` counts their work per grid step, `trace` joins these to the neutral records of `description`,
and `model` turns descriptions into seconds. Importing this package does not import jax; calling `estimate` does.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

MODEL_VERSION = "1"

__all__ = ["MODEL_VERSION", "estimate"]


def estimate(
    module: bytes,
    *,
    arguments: Sequence[Any] = (),
    hardware: Mapping[str, Any],
) -> dict[str, Any]:
  from maxkernel_runner.estimate import report

  return report.estimate_module(module, arguments=arguments, hardware=hardware)
