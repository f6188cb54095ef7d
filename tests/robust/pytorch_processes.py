#!/usr/bin/env python3
"""What PyTorch programs do with processes: `pytorch_processes.py HOW`, a few steps of training each time.

    fork, spawn       batches come from a DataLoader with two workers, which mark what they do with NVTX ranges "load";
                      its main process marks "step" STEPS times
    ddp, fsdp, tensor a rank of torchrun: DistributedDataParallel, sharded weights, or a layer that is split by columns and
                      the next one by rows
    profiled-first    the steps under torch.profiler, which begins before CUDA does
    profiled-later    the same after CUDA has begun

Prints a line of what it did that is the same in every run; a rank but the first prints nothing. A tracer under it must find "step" STEPS times in each process
that trains, and "load" STEPS * BATCH times in the workers together.
"""
import os
import sys

import torch

STEPS, BATCH, WIDTH = 8, 4, 64


class Numbers(torch.utils.data.Dataset):
    """Item N is WIDTH times N: sums of it are exact."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        with torch.cuda.nvtx.range("load"):
            return torch.full((WIDTH,), float(index))


class Training:
    def __init__(self, device):
        torch.manual_seed(1)
        self.device = device
        self.model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)).to(device)
        self.sum = torch.zeros((), device=device)
        self.count = 0

    def step(self, batch, parallel=None):
        with torch.cuda.nvtx.range("step"):
            batch = batch.to(self.device, non_blocking=True)
            self.sum += batch.sum()
            (parallel or self.model)(batch / (STEPS * BATCH)).square().mean().backward()
            with torch.no_grad():
                for weights in self.model.parameters():
                    weights -= 1e-3 * weights.grad
                    weights.grad = None
        self.count += 1

    def result(self):
        torch.cuda.synchronize()
        return f"{self.count} steps, sum {self.sum.item():.0f}"


def batches():
    return torch.utils.data.DataLoader(Numbers(), batch_size=BATCH)


def load(how):
    training = Training("cuda")  # a parent with CUDA: its workers must not touch it
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=BATCH, num_workers=2, multiprocessing_context=how,
                                         pin_memory=True)
    for batch in loader:
        training.step(batch)
    print(training.result())


def parallel_model(how, model, device):
    if how == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import parallel
    mesh = init_device_mesh("cuda", (torch.distributed.get_world_size(),))
    if how == "fsdp":
        return fully_shard(model, mesh=mesh)
    return parallel.parallelize_module(model, mesh, {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()})


def rank(how):
    """NCCL takes ranks that share a GPU only if it believes that they are on different hosts."""
    number, ranks, devices = int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"]), torch.cuda.device_count()
    if devices < ranks:
        os.environ["NCCL_HOSTID"] = f"host{number}"
    device = torch.device("cuda", number % devices)
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", device_id=device)
    training = Training(device)
    parallel = parallel_model(how, training.model, device)
    for batch in batches():
        training.step(batch, parallel)
    result = training.result()
    with torch.no_grad():
        answer = parallel(torch.ones(1, WIDTH, device=device)).item()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    if number == 0:
        print(f"{result}, then {answer:.6f}")


def profiled(first):
    if not first:
        torch.ones(1, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profiler:
        training = Training("cuda")
        for batch in batches():
            training.step(batch)
        print(training.result())
    kernels = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())
    print(f"torch.profiler saw {kernels} on the GPU", file=sys.stderr)


def main():
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how in ("fork", "spawn"):
        load(how)
    elif how in ("ddp", "fsdp", "tensor"):
        rank(how)
    elif how in ("profiled-first", "profiled-later"):
        profiled(how == "profiled-first")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
