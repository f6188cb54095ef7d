/*
 * What CUDA spent preparing code: the library's phases, and what CUPTI tells of its just-in-time compiler.
 *
 * A phase comes as two records, its start and its end, in any order: threads have chunks of their own. They are joined
 * when all is known. One whose end never came ends with the process, or where recording went off.
 */
#ifndef GPUTRACE_TRACE_BUILD_COMPILATION_H
#define GPUTRACE_TRACE_BUILD_COMPILATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "trace/build/capture_intervals.h"
#include "trace/build/launches.h"
#include "trace/spool/event_record.h"

/* Why a phase ended. The first have the numbers of the records.
 *      ending               words in the trace */
#define COMPILATION_ENDINGS(X)                \
    X(RETURNED, "returned")                   \
    X(THREAD_ENDED, "thread ended")           \
    X(CONTEXT_DESTROYED, "context destroyed") \
    X(STREAM_DESTROYED, "stream destroyed")   \
    X(UNKNOWN, "unknown")                     \
    X(PROCESS_ENDED, "process ended")         \
    X(RECORDING_OFF, "recording was turned off")
enum compilation_ending {
#define ENDING(name, text) COMPILATION_##name,
    COMPILATION_ENDINGS(ENDING)
#undef ENDING
        COMPILATION_ENDING_COUNT
};

struct compilation_step {
    uint64_t start, end; /* ns; of a phase 0: not told yet */
    uint64_t number;     /* of the phase, or the JIT operations' group */
    uint64_t cache_bytes;
    const char *function; /* of a phase; in the spool */
    uint32_t function_length;
    uint32_t correlation, thread;
    int32_t result;
    enum compilation_ending ending;
    enum event_jit_operation operation;
    enum event_jit_entry entry;
    uint32_t trigger; /* enum spool_trigger; SPOOL_TRIGGER_NONE: it is a JIT operation */
    uint32_t order;   /* in which it was read */
    bool is_end;      /* of a phase whose records are not joined yet */
};

struct compilation {
    FILE_VECTOR(struct compilation_step) steps; /* once closed: those that the trace shows, what encloses first */
};

void compilation_release(struct compilation *compilation);

/* An EVENT_PHASE of a trigger that is known, or an EVENT_JIT. Return 0, or -1 after error(). */
int compilation_phase(struct compilation *compilation, const struct event *event);
int compilation_jit(struct compilation *compilation, const struct event *event);

/* After the last: ends open phases at TIME, leaves out what began while recording was off, tells JIT operations their
 * threads, and sorts. Returns 0, or -1 after error(). */
int compilation_close(struct compilation *compilation, const struct capture_intervals *capture_intervals,
                      const struct launches *launches, uint64_t time);

struct piece_writer;
struct process;

/* compilation.c: likewise. */
int resolve_compilation(struct process *process);
int write_compilation(struct piece_writer *out, struct process *process);

#endif
