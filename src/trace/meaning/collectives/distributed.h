/*
 * Which ranks of the job communicate with one another, and "distributedInfo" as Kineto writes it.
 *
 * The ranks of a communicator of NCCL are known in two cases: it has as many as the job, or all of them are in the
 * trace. Then every process in it shows them, in traces of single ranks as well.
 */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_DISTRIBUTED_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_DISTRIBUTED_H

struct buffer;
struct conversion;
struct process;

/* Finds the ranks of communicators, after all processes were resolved. Returns 0, or -1 after error(). */
int distributed_resolve(struct conversion *conversion);

/* Appends an object about the rank that PROCESS is; nothing if it has no communicator of NCCL. */
void distributed_put_process(struct buffer *out, const struct process *process);

/* Appends the object of the trace; nothing if its processes have no rank, or different ones. */
void distributed_put(struct buffer *out, const struct conversion *conversion);

#endif
