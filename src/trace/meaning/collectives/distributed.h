/*
 * Which ranks of the job communicate with one another, and "distributedInfo", as Kineto writes it.
 *
 * The ranks of a communicator of NCCL are known in two cases: it has as many as the job, or all of them are in the
 * trace. Then all processes in it say the same, also in traces of single ranks.
 */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_DISTRIBUTED_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_DISTRIBUTED_H

struct buffer;
struct conversion;
struct process;

/* Once all processes were resolved: finds the ranks of their communicators. Returns 0, or -1 after error(). */
int distributed_resolve(struct conversion *conversion);

/* Appends what is known of the rank that PROCESS is, an object; nothing, if it has no communicator of NCCL. */
void distributed_put_process(struct buffer *out, const struct process *process);

/* Appends the object of the trace; nothing, if its processes have no rank, or several. */
void distributed_put(struct buffer *out, const struct conversion *conversion);

#endif
