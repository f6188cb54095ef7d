/*
 * Dumps of PyTorch's flight recorder, made of a trace: for each rank a file rank_N in a folder, a pickle that
 * torch.distributed.flight_recorder.fr_trace reads. It has the operations of the rank and the ranks of its
 * communicators.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_FLIGHT_FILES_H
#define GPUTRACE_ANALYSIS_JOB_FLIGHT_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct flight_files_summary {
    uint64_t ranks;    /* files */
    uint64_t entries;  /* operations in them */
    uint64_t left_out; /* operations that fr_trace has no word for, or cannot compare with those of other ranks */
};

/* Reads the trace INPUT (any that the report reads) and writes the files of its ranks into FOLDER, which is made when
 * there is none. Files of other ranks stay. REPLACE: files of the same ranks are replaced; else that is an error.
 * Returns 0, or -1 after error(). */
int flight_files_convert(const char *input, const char *folder, bool replace, struct flight_files_summary *summary);

#endif
