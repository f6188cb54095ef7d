/*
 * From a spool directory to a trace file, in three passes over every spool:
 *   index    own records first (when recording was on, names, threads, NVTX, allocations), then CUPTI's: which call
 *            started which work, which rows there are and whether they need lanes, the first and last time. Everything
 *            in flight or without times is counted here.
 *   resolve  CUPTI's again, now that all calls are known: arrows that will lack an end, works before their launch, NVTX
 *            ranges on the GPU, lanes. Then rows and arrows get their numbers.
 *   write    writes each event and forgets it.
 *
 * Where graphs have conditional nodes, CUPTI's records are walked once more, before all: from then on work in the
 * bodies of such nodes has the correlation id of its launch.
 *
 * CUPTI's records, which are most of them, are looked at by several threads in each of the three (parallel_scan.h,
 * write_pass.c).
 *
 * So the metadata can stand first in the file with all counts, and only small indexes grow with what is read. Those
 * that grow with every trace lie beside the spool, not in memory, once they are large (common/spill.h,
 * common/big_array.h): 32 bytes for a correlation id, a slice of a row that needs lanes, a record of a CUDA event, a
 * plugin's slice and a sample of an NVTX counter, 52 for an NVTX range (84 when it was started, not pushed), 36 for a
 * range on the GPU, 72 for a call that allocates or releases, 48 for a deferred NVTX event, 16 for a window of a
 * plugin; and so do those that only some programs have: 272 for a device range, of which 160 until the first walk is
 * done, 80 for a phase's start or end and what the JIT compiler did, 40 for a step of a memory pool and a node of a
 * graph, 24 for a piece of an NVTX payload, 16 for a named CUDA event's record and a mark of recording, 48 for a launch
 * of a graph with conditional nodes, 12 for a graph's launch whose works are in several parts of the spool. In memory
 * is what there is at once: 48 bytes and more for an allocation that lives, and for an NVTX range that is open or ended
 * before its start was read; what was released, allocations and regions of NVTX's heaps, no more than there is a bound
 * for (trace/build/memory.h, nvtx_heaps.h). And names, threads, streams, functions, call stacks, each of which was
 * recorded once, and allocations that failed.
 */
#ifndef GPUTRACE_TRACE_BUILD_PASSES_H
#define GPUTRACE_TRACE_BUILD_PASSES_H

#include "trace/build/conversion.h"

struct conversion;
struct output;
struct process;

/*
 * Reads every spool file of the directory and writes the trace beside its final name, then renames it. A spool that is
 * cut or damaged gives what can be read, and the rest is counted. SUMMARY is filled on success.
 * Gives 0, or -1 after error(): the output could not be written, or the directory not be read. The spool is left as it
 * is.
 */
int convert_spool(const struct convert_options *options, struct convert_summary *summary);

/* The passes, each in a file of its name; the last writes the rows of all processes, then their events. Give 0, or -1
 * after error(). */
int survey_process(struct conversion *conversion, struct process *process);
int match_process(struct conversion *conversion, struct process *process);
int emit_all(struct conversion *conversion, struct output *output);

#endif
