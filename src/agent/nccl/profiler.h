/*
 * NCCL's operations, by its profiler plugin (gputrace run --nccl): what NCCL tells when it launches them.
 *
 * NCCL calls the plugin on the program's threads and on its own. A call writes a record, or changes a few numbers in a
 * table of fixed size; it takes no lock and allocates nothing. NCCL's events are known by numbers, not by addresses:
 * what NCCL still says of an event whose place in the table was used again is ignored. The table is the library's,
 * which stays in the process, so NCCL may close the plugin and go on.
 */
#ifndef GPUTRACE_AGENT_NCCL_PROFILER_H
#define GPUTRACE_AGENT_NCCL_PROFILER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Operations are wanted as TRACE_BITS say; LIBRARY is the path of this library, and WAKE is called first in a forked
 * child, and returns whether it is recorded. */
void nccl_init(uint64_t trace_bits, const char *library, bool (*wake)(void));

/* Events that NCCL is to tell of, in this process: a mask of enum nccl_event. 0: none. */
int nccl_wanted(void);

/* NCCL starts the plugin from the code at CALLER: records its version, where it says it. */
void nccl_version(const void *caller);

/* A communicator. Returns its context, NULL: its number is not known. NAME may be NULL. */
void *nccl_communicator(uint64_t number, const char *name, int nodes, int ranks, int rank);
uint64_t nccl_communicator_of(const void *context);

/* The program calls a function of NCCL with COUNT elements of TYPE, a text of NCCL's that stays. Returns the event. */
void *nccl_call(const char *type, uint64_t count);

struct nccl_operation {
    uint64_t communicator, sequence; /* SPOOL_NCCL_NO_SEQUENCE: none */
    uint64_t count;
    int32_t peer; /* or root */
    uint32_t channels;
    const char *function, *type, *algorithm, *protocol; /* as NCCL names them; NULL: not known */
};

/* An operation was launched, which CALL, an event or NULL, asked for: its count and type are those of the call. Returns
 * the event. */
void *nccl_operation(const void *call, const struct nccl_operation *operation);

/* A proxy works on OPERATION, an event, with so many steps; PID is the process whose operation it is. Returns the
 * event, or NULL. */
void *nccl_proxy(const void *operation, pid_t pid, int steps);
void nccl_stop(const void *event);

#endif
