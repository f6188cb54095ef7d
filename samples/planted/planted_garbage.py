#!/usr/bin/env python3
"""planted_garbage [fixed]: a GPU that waits while Python collects garbage between two launches, and the twin that keeps
the collector out of the loop. It uses CUDA's driver by ctypes, so it needs no packages.

The functions have the names that a report should show: gputrace run --cpu=samples,switches.
"""

import ctypes
import gc
import sys

ROUNDS, OBJECTS, WORDS = 20, 200_000, 1 << 20

cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    if result:
        sys.exit(f"error {result} of CUDA's driver")


def begin():
    context, memory, stream = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4 * WORDS)))
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    return memory, stream


def launch(memory, stream):
    check(cuda.cuMemsetD32Async(memory, 1, ctypes.c_size_t(WORDS), stream))


def collect_all():
    gc.collect()


def train(fixed):
    memory, stream = begin()
    objects = [[i, {}] for i in range(OBJECTS)]
    gc.collect()
    if fixed:
        gc.freeze()
    for _ in range(ROUNDS):
        launch(memory, stream)
        collect_all()
    check(cuda.cuStreamSynchronize(stream))
    return objects


train(sys.argv[1:] == ["fixed"])
