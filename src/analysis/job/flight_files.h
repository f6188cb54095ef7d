/*
 * Writes dumps of PyTorch's flight recorder from a trace: a folder with a file rank_N for each rank, a pickle that
 * torch.distributed.flight_recorder.fr_trace reads. A file has the operations of its rank and the ranks of its
 * communicators.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_FLIGHT_FILES_H
#define GPUTRACE_ANALYSIS_JOB_FLIGHT_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct flight_files_summary {
    uint64_t ranks;    /* files written */
    uint64_t entries;  /* operations in the files */
    uint64_t left_out; /* operations that fr_trace has no word for, or cannot compare with those of other ranks */
};

/* Reads the trace INPUT, in any format that the report reads, and writes the files of its ranks into FOLDER, which is
 * created if necessary. Files of other ranks stay. REPLACE: existing files of these ranks are replaced; otherwise they
 * are an error. Returns 0, or -1 after error(). */
int flight_files_convert(const char *input, const char *folder, bool replace, struct flight_files_summary *summary);

#endif
