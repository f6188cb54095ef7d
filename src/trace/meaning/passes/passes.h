/*
 * From a spool directory to a trace file, in three passes over every spool:
 *
 *   index    the agent's records first (when recording was on, names, threads, NVTX, allocations), then CUPTI's: which
 *            call started which GPU operation, which rows there are and whether they need lanes, the first and last
 *            time. Everything in flight or without times is counted here.
 *   resolve  CUPTI's records again, now that all calls are known: flows that will lack an end, operations before their
 *            launch, NVTX ranges on the GPU, lanes. Then rows and flows get their numbers.
 *   write    writes each event and forgets it.
 *
 * Where graphs have conditional nodes, CUPTI's records are walked once more, before all: from then on an operation in
 * the body of such a node has the correlation id of its launch. Several threads read CUPTI's records in each pass
 * (parallel_scan.h, write_pass.c).
 *
 * So the metadata can stand first in the file with all counts, and only small indexes grow with what is read. Those
 * that grow with every trace lie in files once they are large (common/file_vector.h): 32 bytes for each correlation id,
 * 12 to 110 for each of what the topics' headers list in a FILE_VECTOR.
 *
 * Memory holds what there is at once: 48 bytes and more for a live allocation, and for an NVTX range that is open or
 * ended before its start was read. Of released allocations and regions of NVTX heaps it holds a bounded number
 * (memory.h, nvtx.h). Names, threads, streams, functions and call stacks, each recorded once, stay in memory
 * too, as do allocations that failed.
 */
#ifndef GPUTRACE_TRACE_MEANING_PASSES_PASSES_H
#define GPUTRACE_TRACE_MEANING_PASSES_PASSES_H

#include "trace/meaning/base/conversion.h"

struct conversion;
struct output;
struct process;

/*
 * Reads every spool file of the directory and writes the trace beside its final name, then renames it. A spool that is
 * cut or damaged gives what can be read, and the rest is counted. SUMMARY is filled on success.
 * Returns 0, or -1 after error(): the output could not be written, or the directory not be read. The spool is left as
 * it is.
 */
int convert_spool(const struct convert_options *options, struct convert_summary *summary);

/* The passes: the first two are in index_pass.c, the last, in write_pass.c, writes the rows of all processes, then their events. Return 0, or -1
 * after error(). */
int index_process(struct process *process);
int resolve_process(struct process *process);
int write_events(struct conversion *conversion, struct output *output);

#endif
