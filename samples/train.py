#!/usr/bin/env python3
"""A PyTorch training loop: forward, backward and optimiser steps of a small transformer, with NVTX ranges.

    gputrace run --capture-range=cudaProfilerApi train.py --steps 100
    train.py --steps 100 --profile table.json --kineto trace.json
    train.py --steps 100 --allocator /usr/local/lib/libgputrace-allocator.so

The second form runs the same loop under torch.profiler and writes what it saw of each kernel: its count and total time.
Both look at the same steps: warm-up, which loads kernels and tunes libraries, comes before, and cudaProfilerStart marks
its end. So both see the same kernels, as often; tests/samples/compare_kernels compares them. --kineto keeps the
profiler's own trace, whose annotations have the names and places of the ranges; tests/samples/compare_annotations
compares what belongs to each on the GPU.

A correct trace holds the ranges "step", "forward", "backward" and "optimizer" once a step, and in each the calls that
start its kernels. The kernels are PyTorch's own affair; the comparison tells whether they are all there.

The third form takes all memory from gputrace's allocator (gputrace-allocator(3)) instead of PyTorch's own, which must
not change a single loss; at the end it prints what the allocator counted. With --deterministic two runs are equal to the
last bit, with --losses every step's loss is printed. --graph captures a step in a CUDA graph once and launches that.
tests/samples/compare_allocators compares losses, speed, and the peak in the report of a trace.
"""
import argparse
import ctypes
import json
import os
import sys
import tempfile
import time

try:
    import torch
except ImportError:
    sys.exit("train.py: needs PyTorch: pip install torch")

BATCH, TOKENS, WIDTH, HEADS, LAYERS, CLASSES = 16, 64, 256, 4, 2, 10


class Model(torch.nn.Module):
    """A transformer encoder and a classifier on the mean of its outputs. No dropout: every step does the same work."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.classify = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, inputs):
        return self.classify(self.encoder(inputs).mean(dim=1))


class Training:
    """`annotate` is what makes a range: NVTX's here, the profiler's own under torch.profiler."""

    annotate = staticmethod(torch.cuda.nvtx.range)

    def __init__(self, device, graph=False):
        torch.manual_seed(1)
        self.device = device
        self.model = Model().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, capturable=graph)
        self.inputs = torch.randn(BATCH, TOKENS, WIDTH).pin_memory()
        self.labels = torch.randint(CLASSES, (BATCH,)).pin_memory()
        self.losses = []

    def step(self):
        with self.annotate("step"):
            inputs = self.inputs.to(self.device, non_blocking=True)
            labels = self.labels.to(self.device, non_blocking=True)
            self.optimizer.zero_grad(set_to_none=True)
            with self.annotate("forward"):
                loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
            with self.annotate("backward"):
                loss.backward()
            with self.annotate("optimizer"):
                self.optimizer.step()
        return loss.detach()

    def steps(self, count):
        """Gives the seconds that they took."""
        begun = time.perf_counter()
        self.losses = [self.step() for _ in range(count)]
        torch.cuda.synchronize()
        return time.perf_counter() - begun


class GraphTraining(Training):
    """A step is captured once, when all is warm; then each is a launch of that graph."""

    def __init__(self, device):
        super().__init__(device, graph=True)
        self.graph = None

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = super().step()

    def warm_up(self, count):
        """In a stream of its own, as PyTorch wants it before a capture."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(count):
                super().step()
        torch.cuda.current_stream().wait_stream(stream)
        self.capture()

    def step(self):
        self.graph.replay()
        return self.loss.clone()


# --- gputrace's allocator ---


class Figure(ctypes.Structure):
    """struct gputrace_allocator_figure"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("current", "peak", "total", "freed")]


class Stats(ctypes.Structure):
    """struct gputrace_allocator_stats"""

    _fields_ = [(name, Figure) for name in ("allocations", "allocated_bytes", "held_bytes")] + [
        (name, ctypes.c_uint64) for name in ("failures", "retries", "unknown_frees", "failed_frees", "reserved_bytes",
                                             "reserved_peak", "limit", "device_bytes")
    ] + [("reserved", ctypes.c_uint64 * 8)]


class Allocator:
    """PyTorch takes all memory of GPUs from the library; before the first of it is needed."""

    HOOKS = {
        "set_reset_fn": "gputrace_allocator_trim",
        "set_memory_fraction_fn": "gputrace_allocator_set_fraction",
        "set_base_alloc_fn": "gputrace_allocator_base",
        "set_record_stream_fn": "gputrace_allocator_record_stream",
        "set_begin_allocate_to_pool": "gputrace_allocator_begin_pool",
        "set_end_allocate_to_pool_fn": "gputrace_allocator_end_pool",
        "set_release_pool": "gputrace_allocator_release_pool",
    }

    def __init__(self, path):
        memory = torch.cuda.memory
        self.library = ctypes.CDLL(path)
        self.pluggable = memory.CUDAPluggableAllocator(path, "gputrace_torch_malloc", "gputrace_free")
        for setter, function in self.HOOKS.items():
            address = ctypes.cast(getattr(self.library, function), ctypes.c_void_p).value
            getattr(self.pluggable.allocator(), setter)(address)
        memory.change_current_allocator(self.pluggable)

    def print_stats(self, device):
        stats = Stats()
        if self.library.gputrace_allocator_stats(device, ctypes.byref(stats)) != 0:
            sys.exit(f"train.py: the allocator does not know device {device}")
        print(f"allocator held_bytes peak {stats.held_bytes.peak} current {stats.held_bytes.current} "
              f"total {stats.held_bytes.total}")
        print(f"allocator allocated_bytes peak {stats.allocated_bytes.peak} allocations {stats.allocations.total}")
        print(f"allocator reserved_peak {stats.reserved_peak} failures {stats.failures} "
              f"unknown_frees {stats.unknown_frees} failed_frees {stats.failed_frees}")


# --- ways to run it ---


def plain(training, steps, losses):
    torch.cuda.profiler.start()
    seconds = training.steps(steps)
    torch.cuda.profiler.stop()
    values = [loss.item() for loss in training.losses]
    if losses:
        for i, value in enumerate(values):
            print(f"loss of step {i + 1}: {value!r}")
    print(f"loss {values[-1]!r} after {steps} steps in {seconds:.6f} s")
    if isinstance(training, GraphTraining):
        return
    for name in ("step", "forward", "backward", "optimizer"):
        print(f'expect nvtx push "{name}" {steps}')
    print("expect devices 1")


def gpu_work(path):
    """Count and total time of the kernels, copies and sets of each name in Kineto's own trace."""
    with open(path, encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    table = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            row = table.setdefault(event["name"], {"count": 0, "total_us": 0.0})
            row["count"] += 1
            row["total_us"] += event["dur"]
    return {name: {**row, "total_us": round(row["total_us"], 3)} for name, row in sorted(table.items())}


def profiled(training, steps, path, kineto):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    training.annotate = torch.profiler.record_function
    with torch.profiler.profile(activities=activities) as profiler:
        training.steps(steps)
    with tempfile.TemporaryDirectory() as directory:
        trace = kineto or os.path.join(directory, "trace.json")
        profiler.export_chrome_trace(trace)
        work = gpu_work(trace)
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"steps": steps, "torch": torch.__version__, "gpu_work": work}, out, indent=1)
        out.write("\n")
    print(f"{steps} steps under torch.profiler, kernels in {path}")


def parse():
    parser = argparse.ArgumentParser(description="a PyTorch training loop to trace")
    parser.add_argument("--steps", type=int, default=10, help="steps that are recorded (10)")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before that (10)")
    parser.add_argument("--profile", metavar="OUT.json", help="run under torch.profiler, and write its kernels there")
    parser.add_argument("--kineto", metavar="TRACE.json", help="with --profile: keep the profiler's trace there")
    parser.add_argument("--allocator", metavar="LIBRARY", help="take memory from this libgputrace-allocator.so")
    parser.add_argument("--fraction", type=float, help="of the GPU's memory that may be used")
    parser.add_argument("--graph", action="store_true", help="capture a step in a CUDA graph and launch that")
    parser.add_argument("--deterministic", action="store_true", help="every run gives the same losses")
    parser.add_argument("--losses", action="store_true", help="print the loss of each step")
    options = parser.parse_args()
    if options.steps < 1 or options.warm_up < 0:
        parser.error("--steps must be 1 or more, --warm-up 0 or more")
    if options.kineto and not options.profile:
        parser.error("--kineto goes with --profile")
    if options.profile and options.graph:
        parser.error("--profile and --graph exclude each other")
    return options


def deterministic():
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False


def main():
    options = parse()
    if not torch.cuda.is_available():
        sys.exit("train.py: PyTorch finds no CUDA device")
    if options.deterministic:
        deterministic()
    allocator = Allocator(os.path.abspath(options.allocator)) if options.allocator else None
    if options.fraction is not None:
        torch.cuda.set_per_process_memory_fraction(options.fraction)

    device = torch.device("cuda", 0)
    training = GraphTraining(device) if options.graph else Training(device)
    if options.graph:
        training.warm_up(max(options.warm_up, 3))
    elif options.warm_up:
        training.steps(options.warm_up)
    if options.profile:
        profiled(training, options.steps, options.profile, options.kineto)
    else:
        plain(training, options.steps, options.losses)
    if allocator:
        allocator.print_stats(0)


if __name__ == "__main__":
    main()
