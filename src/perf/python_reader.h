/*
 * CPython 3.11 to 3.14 in another process, read from outside (process_vm_readv(2)): which functions its threads are in.
 *
 * Nothing in the process is called or stopped, so its memory may change during a read: the innermost frame may be of a
 * function that has just returned, and a pointer may be stale. Each read is checked.
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
    uint64_t loop, loop_end; /* range of the evaluation loop's code */
    uint64_t code_type, text_type;
    size_t frame_bytes, state_bytes; /* to read of a frame and of a thread's state */
};

/* Returns whether the file at PATH is named like a Python interpreter or its library. */
bool python_reader_is_named(const char *path);

/* Finds the interpreter in the file PATH, which process PID has mapped as RANGE. Returns false if the file has no
 * interpreter of a known version, or if the process cannot be read: errno is then EPERM or ENOSYS. */
bool python_reader_find(struct python_reader *reader, uint32_t pid, const char *path, const struct code_range *range);

/* A thread that the interpreter knows. */
struct python_state {
    uint32_t tid;
    uint64_t frame; /* address of the innermost frame; 0: none */
};

/* Reads at most MOST threads into STATES. Returns their number, or -1 with errno set if the process cannot be read. */
int python_reader_threads(const struct python_reader *reader, struct python_state *states, size_t most);

#define PYTHON_CALLS_MOST 128

/* The functions that a thread is in, innermost first. The outermost functions of a deeper stack are left out. */
struct python_calls {
    size_t count;
    struct python_call {
        uint64_t frame, code, instruction; /* addresses */
        bool is_generator;
        bool stays; /* the last read found this frame with this code */
    } items[PYTHON_CALLS_MOST];
};

/* Reads the calls from FRAME outwards. CALLS holds the calls of the last read: once two calls in a row are unchanged,
 * the outer calls are copied from there, since a function's callers do not change. */
void python_reader_calls(const struct python_reader *reader, uint64_t frame, struct python_calls *calls);

/* A copy of a code object. */
struct python_code {
    uint64_t address;
    uint64_t print; /* hash of its fields, by which other code at the address is noticed */
    char *function; /* UTF-8 */
    char *file;
    uint32_t first_line;
    int32_t traceable; /* number of instructions before the function's own */
    unsigned char *line_table;
    size_t line_table_bytes;
};

/* Returns the print of the code object at ADDRESS, or 0 if there is none. */
uint64_t python_reader_print(const struct python_reader *reader, uint64_t address);
/* Copies the code object at ADDRESS. Returns false if there is none or memory is short. Release CODE in either case. */
bool python_reader_code(const struct python_reader *reader, uint64_t address, struct python_code *code);
void python_code_release(struct python_code *code);

/* The first returns whether CALL has reached its function's own instructions; the second returns its line, or 0 if it
 * has none. */
bool python_call_has_begun(const struct python_reader *reader, const struct python_code *code,
                           const struct python_call *call);
uint32_t python_call_line(const struct python_reader *reader, const struct python_code *code,
                          const struct python_call *call);

#endif
