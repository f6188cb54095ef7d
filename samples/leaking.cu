/*
 * leaking: memory in bad hands. Each function does one thing wrong, so that a report can tell them apart, with
 * --backtrace by name and line.
 *
 * A correct trace holds: what keep_tables and remember allocated, still there at the end; in scratch many allocations
 * that live for a moment; one free of what was freed before and one of what never was allocated, both refused; and an
 * allocation that failed, with what was held at that moment.
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { TABLES = 3, ROUNDS = 100 };
static const size_t table_bytes = 1 << 20, scratch_bytes = 64 << 10, note_bytes = 4096;

#define FUNCTION static __attribute__((noinline)) void

FUNCTION keep_table()
{
    void *table;
    CALL(cudaMalloc(&table, table_bytes));
    did_allocate("Device", table_bytes);
    did_leak("Device", table_bytes);
}

/* A loop that the compiler leaves as it is, so that all tables have one call stack. */
FUNCTION keep_tables()
{
    for (volatile int i = 0; i < TABLES; i++)
        keep_table();
}

FUNCTION remember()
{
    void *note;
    CALL(cudaHostAlloc(&note, note_bytes, cudaHostAllocDefault));
    did_allocate("Pinned", note_bytes);
    did_leak("Pinned", note_bytes);
}

FUNCTION scratch()
{
    for (int i = 0; i < ROUNDS; i++) {
        void *data;
        CALL(cudaMalloc(&data, scratch_bytes));
        did_allocate("Device", scratch_bytes);
        CALL(cudaFree(data));
        did_release("Device", scratch_bytes);
    }
}

/* Errors are kept by CUDA's runtime until they are asked for. */
static void forget_error(cudaError_t wanted)
{
    if (cudaGetLastError() != wanted)
        exit(1);
}

FUNCTION free_twice()
{
    void *data;
    CALL(cudaMalloc(&data, table_bytes));
    did_allocate("Device", table_bytes);
    CALL(cudaFree(data));
    did_release("Device", table_bytes);
    CALL_FAILS(cudaErrorInvalidValue, cudaFree(data));
    state("double-free");
    forget_error(cudaErrorInvalidValue);
}

FUNCTION free_unknown()
{
    static int own;
    CALL_FAILS(cudaErrorInvalidValue, cudaFree(&own));
    state("unknown-free");
    forget_error(cudaErrorInvalidValue);
}

FUNCTION ask_too_much()
{
    void *data;
    CALL_FAILS(cudaErrorMemoryAllocation, cudaMalloc(&data, (size_t)1 << 46));
    state_range("failed-allocation Device", 1, 1, true, (uint64_t)1 << 46);
    forget_error(cudaErrorMemoryAllocation);
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    keep_tables();
    remember();
    scratch();
    free_twice();
    free_unknown();
    ask_too_much();
    state_count("devices", 0);
    state_count("threads", 1);
    state_print();
    return 0;
}
