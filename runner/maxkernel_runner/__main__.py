"""python -I maxkernel_runner/__main__.py --job-fd N --result-fd N [--path DIR]..."""

import argparse
import fcntl
import importlib
import os
import sys
import time

_HIGH = 200  # descriptors from here on are out of the way of anything a candidate would guess


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="maxkernel_runner", description=__doc__)
    parser.add_argument("--job-fd", type=int, required=True)
    parser.add_argument("--result-fd", type=int, required=True)
    parser.add_argument("--path", action="append", default=[], help="a further folder of Python packages")
    options = parser.parse_args(arguments)
    package_parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Executed as a file, the package's own folder heads the path and its modules would shadow others of the same name.
    sys.path[:] = [package_parent, *options.path, *(p for p in sys.path if p != os.path.dirname(os.path.abspath(__file__)))]

    from maxkernel_runner import environment, protocol, supervise

    job_fd = _out_of_the_way(options.job_fd)
    result_fd = _out_of_the_way(options.result_fd)
    value = protocol.read_frame(job_fd, protocol.MAX_JOB_BYTES)
    os.close(job_fd)

    try:
        job = protocol.Job(value)
    except protocol.ProtocolError as error:
        result = protocol.Result(status="infra_failed", reason=str(error))
        protocol.write_frame(result_fd, result.as_json(str(value.get("role") if isinstance(value, dict) else "")))
        return 0
    environment.prepare(chip=str(job.get("chip", "")))

    def work(descriptor):
        os.close(result_fd)
        _run_role(job, _out_of_the_way(descriptor))

    def relay(frame):
        protocol.write_frame(result_fd, frame)

    death = supervise.run_child(work, relay)
    if death and job.role == "compile" and death.signal:
        # A compiler that aborts on this program aborts again; anything else was the machine's doing.
        death = supervise.run_child(work, relay)
    if death:
        relay(supervise.death_result(job.role, death).as_json(job.role, environment.describe()))
    return 0


def _out_of_the_way(descriptor):
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(descriptor)
    return high


def _run_role(job, descriptor):
    from maxkernel_runner import diagnostics, environment, protocol

    def progress(message, case=""):
        protocol.write_frame(descriptor, {"kind": "progress", "message": protocol.shorten(message, 200), "case": case})

    started = time.monotonic()
    timing = {}
    try:
        role = importlib.import_module(f"maxkernel_runner.roles.{job.role}")
        timing["import"] = time.monotonic() - started
        result = role.run(job, progress)
    except (protocol.ProtocolError, diagnostics.InfraFault) as error:
        result = protocol.Result(status="infra_failed", reason=str(error), diagnostics=getattr(error, "diagnostics", []))
    except diagnostics.TaskFault as error:
        result = protocol.Result(status="task_failed", reason=str(error), diagnostics=[error.diagnostic])
    except Exception as error:  # our own defect or the machine's: never blamed on a candidate
        result = protocol.Result(
            status="infra_failed", reason=f"the runner failed in role {job.role}: {type(error).__name__}: {error}",
            diagnostics=[diagnostics.internal(error)])
    timing["work"] = time.monotonic() - started - timing.get("import", 0.0)
    protocol.write_frame(descriptor, result.as_json(job.role, environment.describe(), timing))


if __name__ == "__main__":
    sys.exit(main())
