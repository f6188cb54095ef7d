/*
 * CPython 3.11 to 3.14 in another process, read from outside (process_vm_readv(2)).
 *
 * Stacks of Python functions of the threads of one process, over time. A tick reads them. Between two ticks a thread is
 * taken to be in the functions that the nearer tick found.
 *
 * Nothing in the process is called or stopped, so its memory may change during a read: the innermost frame may be of a
 * function that has just returned, and a pointer may be stale. Each read is checked.
 */
#ifndef GPUTRACE_PERF_PYTHON_PROCESS_H
#define GPUTRACE_PERF_PYTHON_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
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

/* Finds the interpreter in the file PATH, which process PID has mapped as RANGE. Returns false if the file has no
 * interpreter of a known version, or if the process cannot be read: errno is then EPERM or ENOSYS. */
bool python_reader_find(struct python_reader *reader, uint32_t pid, const char *path, const struct code_range *range);

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

#define PYTHON_SEEN_MOST 512 /* stacks that are kept of a thread, each found by one or more ticks */

struct python_line {
    size_t code; /* index in codes */
    uint32_t line;
    bool written; /* the line is in the process's file */
};

struct python_words {
    size_t first; /* index in words */
    uint32_t count;
};

struct python_seen {
    uint64_t from, to; /* times of the first and the last tick that found the stack */
    size_t stack;      /* index in stacks + 1; 0: in no function of Python */
};

struct python_thread {
    uint32_t tid;
    struct python_calls calls; /* found by the last tick */
    size_t count;              /* of all stacks found; SEEN has the last PYTHON_SEEN_MOST */
    struct python_seen seen[PYTHON_SEEN_MOST];
};

struct python_process {
    struct python_reader reader;
    bool ended;         /* its memory cannot be read any more */
    uint64_t near;      /* a tick counts for so many ns before and after it */
    struct map code_at; /* address -> index + 1 in codes, of the code there now */
    ARRAY(struct python_code) codes;
    struct map number_of_place;      /* hash of code and instruction -> number of the line; 0: not shown */
    struct map number_of_line;       /* hash of code and line -> number */
    ARRAY(struct python_line) lines; /* by number, from 1 */
    struct map stack_of;             /* hash of a stack -> index + 1 in stacks */
    ARRAY(struct python_words) stacks;
    ARRAY(uint64_t) words; /* of all stacks, as in a struct spool_stack */
    struct map thread_of;  /* tid -> index in threads */
    ARRAY(struct python_thread *) threads;
};

/* Copies READER for process PID, which has the same interpreter. Returns NULL if memory is short. */
struct python_process *python_process_new(const struct python_reader *reader, uint32_t pid);
void python_process_free(struct python_process *process);

/* Reads the stacks of all threads. NOW is the host's CLOCK_MONOTONIC, EVERY the usual ns between ticks. Returns 0, or
 * -1 with errno set when the process turns out to be unreadable; later ticks do nothing and return 0. */
int python_process_tick(struct python_process *process, uint64_t now, uint64_t every);

/* Finds the stack of thread TID from FROM to TO, a moment or a wait. Sets *WORDS to its words as in a struct
 * spool_stack, innermost first, valid until the next tick. Returns their number, or 0 if it is empty or no tick was
 * near. */
size_t python_process_at(const struct python_process *process, uint32_t tid, uint64_t from, uint64_t to,
                         const uint64_t **words);

/* Whether ADDRESS, which a call returns to, is in the evaluation loop. */
static inline bool python_process_is_loop(const struct python_process *process, uint64_t address)
{
    return address > process->reader.loop && address <= process->reader.loop_end;
}

/* Returns the line that WORD of a stack stands for, or NULL if WORD is an address. */
struct python_line *python_process_line(const struct python_process *process, uint64_t word);
/* The bits of such a word that are the number of the line, as in a struct spool_python_frame. */
#define PYTHON_NUMBER_MASK (((uint64_t)1 << 48) - 1)
/* Writes the function of LINE, a NUL and its file to TEXT. Returns the number of bytes. */
#define PYTHON_LINE_BYTES 8192
size_t python_process_text(const struct python_process *process, const struct python_line *line,
                           char text[PYTHON_LINE_BYTES]);

#endif
