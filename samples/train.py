#!/usr/bin/env python3
"""A PyTorch training loop: forward, backward and optimiser steps of a small transformer, with NVTX ranges.

    gputrace run --capture-range=cudaProfilerApi train.py --steps 100
    train.py --steps 100 --profile table.json

The second form runs the same loop under torch.profiler and writes what it saw of each kernel: its count and total time.
Both look at the same steps: warm-up, which loads kernels and tunes libraries, comes before, and cudaProfilerStart marks
its end. So both see the same kernels, as often; tests/samples/compare_kernels compares them.

A correct trace holds the ranges "step", "forward", "backward" and "optimizer" once a step, and in each the calls that
start its kernels. The kernels are PyTorch's own affair; the comparison tells whether they are all there.
"""
import argparse
import json
import sys
import tempfile

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
    def __init__(self, device):
        torch.manual_seed(1)
        self.device = device
        self.model = Model().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.inputs = torch.randn(BATCH, TOKENS, WIDTH).pin_memory()
        self.labels = torch.randint(CLASSES, (BATCH,)).pin_memory()

    def step(self):
        with torch.cuda.nvtx.range("step"):
            inputs = self.inputs.to(self.device, non_blocking=True)
            labels = self.labels.to(self.device, non_blocking=True)
            self.optimizer.zero_grad(set_to_none=True)
            with torch.cuda.nvtx.range("forward"):
                loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
            with torch.cuda.nvtx.range("backward"):
                loss.backward()
            with torch.cuda.nvtx.range("optimizer"):
                self.optimizer.step()
        return loss

    def steps(self, count):
        for _ in range(count):
            loss = self.step()
        torch.cuda.synchronize()
        return loss


def plain(training, steps):
    torch.cuda.profiler.start()
    loss = training.steps(steps)
    torch.cuda.profiler.stop()
    print(f"loss {loss.item():.4f} after {steps} steps")
    for name in ("step", "forward", "backward", "optimizer"):
        print(f'expect nvtx push "{name}" {steps}')
    print("expect devices 1")


def gpu_work(profiler):
    """Count and total time of the kernels, copies and sets of each name in Kineto's own trace."""
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        profiler.export_chrome_trace(trace.name)
        with open(trace.name, encoding="utf-8") as text:
            events = json.load(text)["traceEvents"]
    table = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            row = table.setdefault(event["name"], {"count": 0, "total_us": 0.0})
            row["count"] += 1
            row["total_us"] += event["dur"]
    return {name: {**row, "total_us": round(row["total_us"], 3)} for name, row in sorted(table.items())}


def profiled(training, steps, path):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        training.steps(steps)
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"steps": steps, "torch": torch.__version__, "gpu_work": gpu_work(profiler)}, out, indent=1)
        out.write("\n")
    print(f"{steps} steps under torch.profiler, kernels in {path}")


def main():
    parser = argparse.ArgumentParser(description="a PyTorch training loop to trace")
    parser.add_argument("--steps", type=int, default=10, help="steps that are recorded (10)")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before that (10)")
    parser.add_argument("--profile", metavar="OUT.json", help="run under torch.profiler, and write its kernels there")
    options = parser.parse_args()
    if options.steps < 1 or options.warm_up < 0:
        parser.error("--steps must be 1 or more, --warm-up 0 or more")
    if not torch.cuda.is_available():
        sys.exit("train.py: PyTorch finds no CUDA device")

    training = Training(torch.device("cuda"))
    if options.warm_up:
        training.steps(options.warm_up)
    if options.profile:
        profiled(training, options.steps, options.profile)
    else:
        plain(training, options.steps)


if __name__ == "__main__":
    main()
