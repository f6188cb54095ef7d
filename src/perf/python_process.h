/*
 * The functions of Python that the threads of one process are in, as time goes on. A tick reads them; what a thread did
 * between two ticks is what the nearer one saw.
 */
#ifndef GPUTRACE_PERF_PYTHON_PROCESS_H
#define GPUTRACE_PERF_PYTHON_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "perf/python_reader.h"

#define PYTHON_SEEN_MOST 512 /* changes of a thread's stack that are remembered: a tick each, or more */

struct python_line {
    size_t code; /* index in codes */
    uint32_t line;
    bool written; /* it is in the process's file */
};

struct python_words {
    size_t first; /* index in words */
    uint32_t count;
};

struct python_seen {
    uint64_t from, to; /* the first and the last tick that saw it */
    size_t stack;      /* index + 1; 0: in no function */
};

struct python_thread {
    uint32_t tid;
    struct python_calls calls; /* at the last tick */
    size_t count;              /* of what was seen; the last PYTHON_SEEN_MOST are known */
    struct python_seen seen[PYTHON_SEEN_MOST];
};

struct python_process {
    struct python_reader reader;
    bool ended;         /* it cannot be read any more */
    uint64_t near;      /* ns before and after it that a tick may count for */
    struct map code_at; /* address -> index + 1 in codes: what is there now */
    ARRAY(struct python_code) codes;
    struct map number_of_place;      /* hash of code and instruction -> number of the line; 0: none */
    struct map number_of_line;       /* hash of code and line -> number */
    ARRAY(struct python_line) lines; /* by number, from 1 */
    struct map stack_of;             /* hash of a stack -> index + 1 in stacks */
    ARRAY(struct python_words) stacks;
    ARRAY(uint64_t) words; /* as in a struct spool_stack */
    struct map thread_of;  /* tid -> index in threads */
    ARRAY(struct python_thread *) threads;
};

/* NULL: no memory. */
struct python_process *python_process_new(const struct python_reader *reader);
/* NULL of NULL. What a forked process has, in PID. */
struct python_process *python_process_forked(const struct python_process *process, uint32_t pid);
void python_process_free(struct python_process *process);

/* Reads all threads. NOW: host's CLOCK_MONOTONIC; EVERY: ns from one tick to the next, about. Returns 0, or -1 with
 * errno set: it cannot be read, and never again.
 */
int python_process_tick(struct python_process *process, uint64_t now, uint64_t every);

/* What thread TID was in from FROM to TO, in which it did not change (a wait, or a moment): *WORDS as a struct
 * spool_stack has them, innermost first, valid until the next tick. Returns how many; 0: nothing, or no tick was near.
 */
size_t python_process_at(const struct python_process *process, uint32_t tid, uint64_t from, uint64_t to,
                         const uint64_t **words);

/* Whether the address is in the evaluation loop. */
static inline bool python_process_is_loop(const struct python_process *process, uint64_t address)
{
    return address > process->reader.loop && address <= process->reader.loop_end;
}

/* The line that a word of a stack stands for; NULL: the word is an address. */
struct python_line *python_process_line(const struct python_process *process, uint64_t word);
/* Its number, as a struct spool_python_frame has it. */
uint64_t python_process_number(uint64_t word);
/* Writes its function, a NUL, and its file. Returns the bytes. */
#define PYTHON_LINE_BYTES 8192
size_t python_process_text(const struct python_process *process, const struct python_line *line,
                           char text[PYTHON_LINE_BYTES]);

#endif
