/*
 * From a spool directory to a trace file, in three passes over every spool:
 *
 *   index    reads the agent's records first (when recording was on, names, threads, NVTX, allocations), then CUPTI's:
 *            which call started which GPU operation, which rows there are and whether they need lanes, the first and
 *            last time. Counts everything that was in flight or has no times.
 *   resolve  reads CUPTI's records again, now that all calls are known: counts flows without an end and operations
 *            before their launch, finds NVTX ranges on the GPU, and assigns lanes. Then rows and flows get numbers.
 *   write    writes each event and forgets it.
 *
 * If graphs have conditional nodes, a walk over CUPTI's records precedes these: after it, an operation in the body of
 * such a node has the correlation id of its launch. Several threads read CUPTI's records in each pass
 * (parallel_scan.h, write_pass.c).
 *
 * So the metadata, with all counts, can be first in the file, and only small indexes grow with what is read. Those
 * that grow with every trace lie in files once they are large (common/file_vector.h): 32 bytes for each correlation id,
 * 12 to 110 for each item of the FILE_VECTORs in the topics' headers.
 *
 * Memory holds what exists at a time: 48 bytes and more for a live allocation, and for an NVTX range that is open or
 * ended before its start was read. It holds a bounded number of released allocations and of regions of NVTX heaps
 * (memory.h, nvtx.h). Names, threads, streams, functions and call stacks, each recorded once, stay in memory, as do
 * allocations that failed.
 */
#ifndef GPUTRACE_TRACE_MEANING_PASSES_PASSES_H
#define GPUTRACE_TRACE_MEANING_PASSES_PASSES_H

#include "trace/meaning/base/conversion.h"

struct conversion;
struct output;
struct process;

/*
 * Reads every spool file of the directory, writes the trace beside its final name, then renames it. What cannot be read
 * of a cut or damaged spool is counted. The spools are not changed. On success, SUMMARY is filled.
 * Returns 0, or -1 after error(): the output could not be written, or the directory not be read.
 */
int convert_spool(const struct convert_options *options, struct convert_summary *summary);

/* The passes: index_pass.c has the first two; write_pass.c writes the rows of all processes, then all events. Return 0,
 * or -1 after error(). */
int index_process(struct process *process);
int resolve_process(struct process *process);
int write_events(struct conversion *conversion, struct output *output);

#endif
