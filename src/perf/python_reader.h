/*
 * CPython 3.11 to 3.14 in another process, read from outside (process_vm_readv(2)): which functions its threads are in.
 *
 * The process runs on meanwhile, and nothing in it is called or stopped. So what is read may be changing: an innermost
 * function that has just returned may be among the frames. Whatever is read, nothing is trusted to be where a pointer
 * says it is.
 */
#ifndef GPUTRACE_PERF_PYTHON_READER_H
#define GPUTRACE_PERF_PYTHON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/python_layout.h"
#include "symbols/unwind.h"

struct python_reader {
    uint32_t pid;
    struct python_layout layout;
    uint64_t runtime;        /* _PyRuntime */
    uint64_t loop, loop_end; /* code of the evaluation loop */
    uint64_t code_type, text_type;
    size_t frame_bytes, state_bytes; /* that are read of a frame, and of the state of a thread */
};

/* Whether a file of this name may hold an interpreter. */
bool python_reader_is_named(const char *path);

/* Finds the interpreter in the file PATH, which process PID has mapped as RANGE. False: there is none, or none that is
 * known, or the process cannot be read: errno is EPERM or ENOSYS. */
bool python_reader_find(struct python_reader *reader, uint32_t pid, const char *path, const struct code_range *range);

/* A thread that has been in Python. */
struct python_state {
    uint32_t tid;
    uint64_t frame; /* the innermost; 0: none */
};

/* Returns how many, at most MOST; -1 with errno set: the process cannot be read (EPERM, ESRCH). */
int python_reader_threads(const struct python_reader *reader, struct python_state *states, size_t most);

#define PYTHON_CALLS_MOST 128

/* The functions that a thread is in, innermost first; outer ones than these are left out. */
struct python_calls {
    size_t count;
    struct python_call {
        uint64_t frame, code, instruction; /* addresses */
        bool is_generator;
        bool stays; /* it was there before: its code is what it was, too */
    } items[PYTHON_CALLS_MOST];
};

/* Reads them from FRAME on. CALLS has what was read before, as far as which it is not read again: a function's callers
 * do not change. */
void python_reader_calls(const struct python_reader *reader, uint64_t frame, struct python_calls *calls);

/* What a code object says. */
struct python_code {
    uint64_t address;
    uint64_t print; /* of what it says: other code at the address has another one */
    char *function; /* UTF-8 */
    char *file;
    uint32_t first_line;
    int32_t traceable; /* instructions that come before the function's own */
    unsigned char *line_table;
    size_t line_table_bytes;
};

/* The print of the code at ADDRESS; 0: it is not code. */
uint64_t python_reader_print(const struct python_reader *reader, uint64_t address);
/* False: it is not code, or no memory. Release it with python_code_release(). */
bool python_reader_code(const struct python_reader *reader, uint64_t address, struct python_code *code);
void python_code_release(struct python_code *code);

/* Whether the function has begun, and its line there; 0: it has none. */
bool python_call_has_begun(const struct python_reader *reader, const struct python_code *code,
                           const struct python_call *call);
uint32_t python_call_line(const struct python_reader *reader, const struct python_code *code,
                          const struct python_call *call);

#endif
