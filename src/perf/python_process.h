/*
 * Stacks of Python functions of the threads of one process, over time. A tick reads them. Between two ticks a thread is
 * taken to be in the functions that the nearer tick found.
 */
#ifndef GPUTRACE_PERF_PYTHON_PROCESS_H
#define GPUTRACE_PERF_PYTHON_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "perf/python_reader.h"

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

/* Copies READER. Returns NULL if memory is short. */
struct python_process *python_process_new(const struct python_reader *reader);
/* Makes the struct of a forked process PID, with the interpreter of PROCESS. Returns NULL if PROCESS is NULL or memory
 * is short. */
struct python_process *python_process_forked(const struct python_process *process, uint32_t pid);
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
/* Returns the number of the line that WORD stands for, as in a struct spool_python_frame. */
uint64_t python_process_number(uint64_t word);
/* Writes the function of LINE, a NUL and its file to TEXT. Returns the number of bytes. */
#define PYTHON_LINE_BYTES 8192
size_t python_process_text(const struct python_process *process, const struct python_line *line,
                           char text[PYTHON_LINE_BYTES]);

#endif
