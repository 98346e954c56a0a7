"""The chip's real compiler without a chip: libtpu on a topology description."""

import re

import jax
from jax.experimental import topologies

from maxkernel_runner.diagnostics import InfraFault

_SCOPED = re.compile(r'"used_scoped_memory_configs":\[\{"memory_space":"1","offset":"0","size":"(\d+)"')
_INTERESTING_OPERATIONS = ("copy", "transpose", "fusion", "convert", "reshape")


def device(hardware):
    """One device of the chip's topology. InfraFault if libtpu does not know or lacks it."""
    settings = hardware.get("aot")
    if not settings:
        raise InfraFault(f"the hardware file has no `aot` settings for chip {hardware.get('name', '?')}: it cannot be compiled for")
    try:
        topology = topologies.get_topology_desc(
            topology_name=settings["topology_name"], platform="tpu", chip_config_name=settings["chip_config_name"],
            chips_per_host_bounds=tuple(settings["chips_per_host_bounds"]), num_slices=1)
    except Exception as error:
        raise InfraFault(f"libtpu gives no topology {settings['topology_name']}: {type(error).__name__}: {error}") from error
    found = topology.devices[0]
    kinds = hardware.get("device_kinds") or [found.device_kind]
    if found.device_kind not in kinds:
        raise InfraFault(f"topology {settings['topology_name']} is a {found.device_kind!r}, the hardware file expects one of {kinds}")
    return found


def compile_module(module, entry, target):
    """The compiled program of a checked module; raises what the compiler raises."""
    sharding = jax.sharding.SingleDeviceSharding(target)
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding) for a in module.exported.in_avals]
    program = jax.jit(module.call(), donate_argnums=tuple(entry.get("donate") or ()))
    return program.trace(*shapes).lower().compile()


def facts(compiled):
    """What the compiler knows: memory, and operations around the kernels. Nothing that a candidate states itself."""
    memory = compiled.memory_analysis()
    text = compiled.as_text()
    found = {
        "argument_bytes": memory.argument_size_in_bytes, "output_bytes": memory.output_size_in_bytes,
        "alias_bytes": memory.alias_size_in_bytes, "temporary_bytes": memory.temp_size_in_bytes,
        "code_bytes": memory.generated_code_size_in_bytes, "kernels": text.count('custom_call_target="tpu_custom_call"'),
    }
    scoped = [int(size) for size in _SCOPED.findall(text)]
    if scoped:
        found["vmem_bytes"] = max(scoped)
    for name in _INTERESTING_OPERATIONS:
        count = len(re.findall(rf"= \S+ {name}\(", text))
        if count:
            found[f"{name}_operations"] = count
    return found


_SCOPED_OOM = re.compile(r"Scoped allocation with size ([\d.]+)([KMG]?) and limit ([\d.]+)([KMG]?) exceeded")
_SPACE_OOM = re.compile(r"Used ([\d.]+)([KMG]?) of ([\d.]+)([KMG]?) (vmem|hbm|smem)")
_PLAIN_OOM = re.compile(r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\).*space=(\w+)", re.S)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def memory_shortage(message):
    """{'space', 'needed', 'limit'} in bytes from an out-of-memory message, or None."""
    match = _SCOPED_OOM.search(message)
    if match:
        return {"space": "vmem", "needed": _size(*match.groups()[:2]), "limit": _size(*match.groups()[2:])}
    match = _SPACE_OOM.search(message)
    if match:
        return {"space": match[5], "needed": _size(match[1], match[2]), "limit": _size(match[3], match[4])}
    match = _PLAIN_OOM.search(message)
    if match:
        return {"space": match[3], "needed": int(match[1]), "limit": int(match[2])}
    return None


def _size(number, unit):
    return int(float(number) * _UNITS[unit])
