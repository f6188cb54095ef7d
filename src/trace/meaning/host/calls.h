/*
 * The row "compilation": phases in which CUDA prepared code, and within them what its just-in-time compiler did. Slices
 * of one thread nest; those of several threads that overlap have lanes of their own.
 *
 * A phase comes as two records, its start and its end, in any order: threads have chunks of their own. They are joined
 * when all is known. One whose end never came ends with the process, or where recording went off.
 */
#ifndef GPUTRACE_TRACE_MEANING_HOST_CALLS_H
#define GPUTRACE_TRACE_MEANING_HOST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"

struct compilation_step {
    uint64_t start, end; /* ns; of a phase 0: not known yet */
    uint64_t number;     /* of the phase, or the JIT operations' group */
    uint64_t cache_bytes;
    const char *function; /* of a phase; in the spool */
    uint32_t function_length;
    uint32_t correlation, thread;
    int32_t result;
    uint32_t ending; /* why the phase ended: enum compilation_ending */
    enum event_jit_operation operation;
    enum event_jit_entry entry;
    uint32_t trigger; /* enum spool_trigger; SPOOL_TRIGGER_NONE: it is a JIT operation */
    uint32_t order;   /* in which it was read */
    bool is_end;      /* of a phase whose records are not joined yet */
};

struct compilation {
    FILE_VECTOR(struct compilation_step) steps; /* once closed: those that the trace shows, what encloses first */
};

struct piece_writer;
struct process;

/* Return 0, or -1 after error(). */
int resolve_compilation(struct process *process);
int write_compilation(struct piece_writer *out, struct process *process);

#endif
