/*
 * Loops that ask CUDA or NVTX for one thing over and over: what a tracer adds to them is what tracing costs.
 *
 * libtracing_loops.so, so that a program (tracing_program.c) and a script (tracing_kineto) measure the same. A loop
 * does its operations in blocks that are short enough for the GPU's queues never to fill: the host's time is what is
 * seen. One thread calls all of this. A failure is printed to stderr with the name of the call.
 */
#ifndef GPUTRACE_TESTS_BENCH_TRACING_LOOPS_H
#define GPUTRACE_TESTS_BENCH_TRACING_LOOPS_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many loops there are; LOOP in what follows is a number below that. */
int tracing_loops_count(void);

const char *tracing_loops_name(int loop);

/* 1 when the loop uses CUDA, 0 when it runs without. */
int tracing_loops_needs_cuda(int loop);

/* Kernels that one block launches, those in graphs counted one by one. */
int tracing_loops_kernels(int loop);

/* Makes CUDA's first call in this process, and nothing else. Returns 0, or -1. */
int tracing_loops_start(void);

/* Makes what the loops with CUDA work on: streams, memory, a graph. Once, after the start. Returns 0, or -1. */
int tracing_loops_prepare(void);

/* Does one block, the GPU being idle before and after, and gives nanoseconds per operation; negative: it failed. */
double tracing_loops_run(int loop);

#ifdef __cplusplus
}
#endif

#endif
