/*
 * The row "compilation": phases in which CUDA prepared code, and within them what its just-in-time compiler did. Slices
 * of one thread nest; slices of several threads that overlap get lanes.
 *
 * A phase comes as two records, its start and its end, in any order, because each thread has chunks of its own. The
 * resolve pass joins them. A phase without an end ends with the process, or when recording was switched off.
 */
#ifndef GPUTRACE_TRACE_MEANING_HOST_CALLS_H
#define GPUTRACE_TRACE_MEANING_HOST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"

struct compilation_step {
    uint64_t start, end; /* ns; 0 in a phase whose other record has not been joined */
    uint64_t number;     /* of the phase, or of the JIT operation's group */
    uint64_t cache_bytes;
    const char *function; /* of a phase; in the spool */
    uint32_t function_length;
    uint32_t correlation, thread;
    int32_t result;
    uint32_t ending; /* why the phase ended: enum compilation_ending */
    enum event_jit_operation operation;
    enum event_jit_entry entry;
    uint32_t trigger; /* enum spool_trigger; SPOOL_TRIGGER_NONE: the step is a JIT operation */
    uint32_t order;   /* in which the records were read */
    bool is_end;      /* the record of a phase's end */
};

struct compilation {
    FILE_VECTOR(struct compilation_step) steps; /* after resolve_compilation(): those shown, enclosing ones first */
};

struct piece_writer;
struct process;

/* The resolve pass and the write pass. Return 0, or -1 after error(). */
int resolve_compilation(struct process *process);
int write_compilation(struct piece_writer *out, struct process *process);

#endif
