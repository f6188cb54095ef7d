"""What the scripts of this folder share: programs that run in turns, what they print, and figures of it."""
import argparse
import collections
import ctypes
import os
import statistics
import subprocess
import sys


def environment(build, simulated=False, **more):
    """This process's, without settings of gputrace and of other tracers; SIMULATED: with the simulated GPU."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("GPUTRACE_") and not name.endswith("_INJECTION64_PATH")}
    if simulated:
        kept["LD_LIBRARY_PATH"] = ":".join(filter(None, [build + "/simgpu", kept.get("LD_LIBRARY_PATH")]))
    return {**kept, **more}


class Loops:
    """The loops of libtracing_loops.so (tracing_loops.h), ready to run in this process: NAMES or all of them."""

    def __init__(self, path, names=None):
        self.library = ctypes.CDLL(path)
        self.library.tracing_loops_name.restype = ctypes.c_char_p
        self.library.tracing_loops_run.restype = ctypes.c_double
        every = {self.library.tracing_loops_name(i).decode(): i for i in range(self.library.tracing_loops_count())}
        self.chosen = {name: every[name] for name in names or every}
        if self.library.tracing_loops_start() or self.library.tracing_loops_prepare():
            sys.exit(1)

    def run(self, name):
        """Nanoseconds of each call in a block of the loop."""
        ns = self.library.tracing_loops_run(self.chosen[name])
        if ns < 0:
            sys.exit(1)
        return ns


class Worker:
    """A process that prints `ready`, then answers each line with a line of numbers: blocks of several take turns."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(self.process.args)} ended with {self.process.wait()}")
        return line.split()

    def wait(self):
        assert self.answer() == ["ready"]

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()

    def block(self, request):
        self.ask(request)
        return statistics.median(map(float, self.answer()))

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit(f"{' '.join(self.process.args)} ended with {self.process.returncode}")


def facts(lines):
    """Lines `WHAT NUMBER`, as programs here print them: {what: [number, ...]}"""
    found = collections.defaultdict(list)
    for line in lines:
        what, _, value = line.rpartition(" ")
        found[what].append(float(value))
    return found


def median(values):
    """Of those that are not None, or None."""
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def spread(values):
    """Median and quartiles of those that are not None, or None."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": middle, "low": low, "high": high, "count": len(values)}


def cell(value, form, nothing="-"):
    return nothing if value is None else form.format(value)


def names(known):
    """For argparse: a list of some of KNOWN, with commas."""
    def parse(text):
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(known)}")
        return chosen
    return parse
