/*
 * Errors that CUDA's calls returned: which of them are failures, how often each came, and how they are written:
 * "cudaErrorInvalidValue (1)".
 */
#ifndef GPUTRACE_ANALYSIS_ERRORS_H
#define GPUTRACE_ANALYSIS_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/table.h"
#include "analysis/trace.h"

/*
 * Whether the call that EVENT is about failed. What cudaGetLastError and cudaPeekAtLastError return is an earlier
 * call's failure, and "not ready" is the answer of a query.
 */
bool errors_is_failure(const struct trace *trace, const struct trace_event *event);

/* Takes the failure that EVENT is about. */
void errors_add(struct errors *errors, const struct trace_event *event);

/* "cudaErrorInvalidValue (1)"; of several errors, "3 × cudaErrorInvalidValue (1), 2 × …"; empty when none came. */
struct cell errors_cell(const struct errors *errors, struct table *table);

/* The error CODE of CUDA's runtime, or of its driver. */
struct cell error_cell(struct table *table, bool of_runtime, int64_t code);

/* Empty for success, and for EVENT_NONE. */
struct cell driver_error_cell(struct table *table, int64_t code);

#endif
