/* Errors that CUDA's calls returned: which of them are failures, how often they occurred, and how they are named. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_ERRORS_H
#define GPUTRACE_ANALYSIS_ENGINE_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "trace/event_fields.h"
#include "common/map.h"
#include "analysis/base/table.h"

/* Counts failed calls. The first ERROR_KINDS different errors are also counted one by one. */
#define ERROR_KINDS 8
struct errors {
    uint64_t count;
    unsigned kinds;
    struct error_kind {
        int64_t code;
        uint64_t count;
        bool of_runtime; /* else of the driver */
    } kind[ERROR_KINDS];
};

/*
 * Whether the call of EVENT failed. Some errors are not failures: cudaGetLastError and cudaPeekAtLastError return the
 * failure of an earlier call, and "not ready" is the answer of a query. So is "no binary for this GPU": NCCL queries
 * kernels that it then does not use, and a launch of such a kernel fails itself. Programs also enable access to a peer
 * twice, query whether a pointer is CUDA's, and search for functions of newer drivers.
 */
bool errors_is_failure(const struct interner *strings, const struct event_fields *event);

/* Counts the failed call EVENT. */
void errors_add(struct errors *errors, const struct event_fields *event);

/* The cell has the names of the errors: "cudaErrorInvalidValue (1)", or for several errors "3 ×
 * cudaErrorInvalidValue (1), 2 × …". It is empty if there are no errors. */
struct cell errors_cell(const struct errors *errors, struct table *table);

/* The cell has the name of the error CODE of CUDA's runtime, or of its driver. */
struct cell error_cell(struct table *table, bool of_runtime, int64_t code);

/* Returns the meaning of CODE, of CUDA's driver or runtime, if the process cannot use CUDA after this error; else
 * NULL. */
const char *error_lasting_words(int64_t code);

/* --- failed calls, by function and error --- */

struct failure_key {
    uint64_t name; /* of the function */
    int64_t code, of_runtime;
};

struct failure {
    int64_t count, first, last; /* when the first and the last call began, ns */
};

/* All zero is empty. */
struct failures {
    struct dense_map keys; /* struct failure_key */
    ARRAY(struct failure) items;
};

/* Adds the failed call EVENT. Returns 0, or -1: no memory. */
int failures_add(struct failures *failures, const struct event_fields *event);

#endif
