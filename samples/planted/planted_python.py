#!/usr/bin/env python3
"""planted_python CASE: a GPU that waits for Python. It uses CUDA's driver by ctypes, so it needs no packages.

    garbage     Python collects garbage between two launches; garbage-fixed keeps the collector out of the loop
    loader      a function of Python makes each batch between two launches; loader-fixed makes them before

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


def garbage(fixed):
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


def tokenize(text):
    tokens = []
    for character in text:
        tokens.append(ord(character) * 31 % 50257)
    return tokens


def load_batch(number):
    return [tokenize(f"text {number} of a batch " * 40) for _ in range(100)]


def loader(fixed):
    memory, stream = begin()
    ready = [load_batch(i) for i in range(ROUNDS)] if fixed else None
    for i in range(ROUNDS):
        batch = ready[i] if fixed else load_batch(i)
        launch(memory, stream)
        assert len(batch) == 100
    check(cuda.cuStreamSynchronize(stream))


CASES = {"garbage": garbage, "loader": loader}
case, _, way = (sys.argv[1] if len(sys.argv) == 2 else "").partition("-")
if case not in CASES or way not in ("", "fixed"):
    sys.exit("usage: planted_python garbage|garbage-fixed|loader|loader-fixed")
CASES[case](way == "fixed")
