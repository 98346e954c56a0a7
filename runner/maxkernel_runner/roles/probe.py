"""Says which fidelities work on this machine, and why one does not, by doing each of them once on a tiny kernel."""

import os
import time

from maxkernel_runner import environment
from maxkernel_runner.protocol import CaseResult, Result

FIDELITIES = ("interpret", "lower", "aot", "estimate", "cpu", "device")
_SHAPE = (16, 128)


def run(job, progress):
    wanted = job.get("fidelities", FIDELITIES)
    checks = {"interpret": _interpret, "lower": _lower, "aot": _aot, "estimate": _estimate, "cpu": _cpu, "device": _device}
    results = []
    for name in wanted:
        progress("probing", name)
        started = time.monotonic()
        result = CaseResult(name)
        if name not in checks:
            result.status, result.absent = "failed", f"no such fidelity; known are {', '.join(FIDELITIES)}"
        else:
            try:
                result.facts.update(checks[name](job))
            except Exception as error:
                result.status = "failed"
                result.absent = f"{type(error).__name__}: {error}. {_advice(name)}"
        result.facts["seconds"] = time.monotonic() - started
        results.append(result)
    return Result(cases=results, facts={"pid_limit": _limit("RLIMIT_NPROC"), "address_space_limit": _limit("RLIMIT_AS")})


def _advice(name):
    if name in ("aot", "estimate") and not environment.distribution_version("libtpu"):
        return "Install the libtpu of runner/requirements.txt beside jax."
    if name == "device":
        return "It needs a TPU on the daemon's host."
    return "Install the versions in runner/requirements.txt."


def _limit(name):
    import resource

    soft = resource.getrlimit(getattr(resource, name))[0]
    return "none" if soft == resource.RLIM_INFINITY else soft


def _computation(x):
    import jax
    from jax.experimental import pallas as pl

    def kernel(x_ref, out_ref):
        out_ref[...] = 2.0 * x_ref[...] + 1.0

    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))], out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def _entry():
    array = {"shape": list(_SHAPE), "dtype": "float32"}
    return {"argument_tree": {"kind": "tuple", "children": [{"kind": "leaf"}]}, "arguments": [array], "static": [],
            "output_tree": {"kind": "leaf"}, "outputs": [array]}


def _exported(job, platform):
    from maxkernel_runner import tracing

    hardware = job.hardware or _DEFAULT_HARDWARE
    return tracing.export(tracing.trace(_computation, _entry(), hardware), _entry(), platform, hardware)


# Enough to trace with when a probe names no chip.
_DEFAULT_HARDWARE = {
    "name": "v6e", "device_kinds": ["TPU v6 lite", "TPU v6e"], "cores_per_device": 1,
    "aot": {"topology_name": "v6e:1x1", "chip_config_name": "default", "chips_per_host_bounds": [1, 1, 1]},
}


def _interpret(job):
    import numpy as np

    x = np.arange(np.prod(_SHAPE), dtype=np.float32).reshape(_SHAPE)
    if not np.array_equal(np.asarray(_exported(job, "cpu").call(x)[0]), 2 * x + 1):
        raise RuntimeError("an interpreted kernel gave wrong values")
    return {}


def _lower(job):
    text = _exported(job, "tpu").mlir_module()
    if "tpu_custom_call" not in text:
        raise RuntimeError("a lowered kernel is missing from its module")
    return {}


def _aot(job):
    import jax

    from maxkernel_runner import chip_compiler

    target = chip_compiler.device(job.hardware or _DEFAULT_HARDWARE)
    exported = _exported(job, "tpu")
    shape = jax.ShapeDtypeStruct(_SHAPE, "float32", sharding=jax.sharding.SingleDeviceSharding(target))
    compiled = jax.jit(exported.call).trace(shape).lower().compile()
    return {"device_kind": target.device_kind, **chip_compiler.facts(compiled)}


def _estimate(job):
    from maxkernel_runner import estimate

    if not job.hardware:
        raise RuntimeError("the probe names no chip, so there are no figures to compute with")
    answer = estimate.estimate(_exported(job, "tpu").serialize(), arguments=[None],
                               hardware={"chip": job.hardware, "common": job.hardware_common})
    if answer["time_s"] is None:
        raise RuntimeError(f"the time model gives no time: {answer['absent']}")
    return {"model_version": answer["model_version"], "time_s": answer["time_s"]}


def _cpu(job):
    import jax
    import jax.numpy as jnp

    if float(jax.jit(jnp.sum)(jnp.ones(8))) != 8.0:
        raise RuntimeError("the CPU backend gave wrong values")
    return {"cores": len(os.sched_getaffinity(0))}


def _device(job):
    chips = [path for path in ("/dev/vfio", "/dev/accel0") if os.path.exists(path)]
    found = [] if not chips else _tpu_pci_devices()
    if not found:
        raise RuntimeError("no TPU on this host")
    raise RuntimeError("this runner has no device role yet: times come from estimate or cpu")


def _tpu_pci_devices(root="/sys/bus/pci/devices"):
    found = []
    for name in os.listdir(root) if os.path.isdir(root) else ():
        try:
            with open(os.path.join(root, name, "vendor"), encoding="ascii") as file:
                if file.read().strip() == "0x1ae0":
                    found.append(name)
        except OSError:
            continue
    return found
