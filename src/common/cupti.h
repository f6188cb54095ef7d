/*
 * The rows of common/record_kinds.h as an array, with the sizes of records by CUPTI's version. The agent asks the CUPTI
 * at hand for the sizes and writes them into the spool's header; for a kind without a size there, both processes use
 * the table's. Besides, where a libcupti is searched, and the classes of API functions.
 */
#ifndef GPUTRACE_COMMON_CUPTI_H
#define GPUTRACE_COMMON_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record_kinds.h"

enum cupti_kind_on {
    CUPTI_KIND_NEVER,     /* never enabled, but CUPTI may write such records */
    CUPTI_KIND_AT_START,  /* enabled from start to end, because its records come once */
    CUPTI_KIND_RECORDING, /* enabled while recording is on */
};

struct cupti_kind {
    uint32_t number;
    enum cupti_kind_on on;
    uint64_t groups; /* enum trace_bits */
    struct {
        uint32_t since;
        uint16_t bytes;
    } sizes[4]; /* unused entries are 0 */
};

#define ONE(...) +1
enum { CUPTI_KIND_COUNT = CUPTI_KINDS(ONE, ONE) };
#undef ONE
extern const struct cupti_kind cupti_kinds[CUPTI_KIND_COUNT];

/* Returns the bytes of a record of KIND, or 0 if the table does not have the kind or the version. */
uint16_t cupti_record_bytes(uint32_t kind, uint32_t version);

/* --- where a libcupti is searched --- */

/* The agent, which loads a libcupti, and `gputrace doctor` search it in one order. */

#define CUPTI_OLDEST CUPTI_11_8 /* older versions crash programs */

/*
 * Calls TRY with one name for dlopen() after another, until TRY returns non-zero. Returns its last result. The order:
 *   1. PREFERRED (the setting GPUTRACE_CUPTI; NULL or "": none), whether it exists or not
 *   2. existing files in the folders of LD_LIBRARY_PATH, which selects the CUDA of this program
 *   3. files of NVIDIA's wheels (nvidia-cuda-cupti) beside other Python packages that this process has loaded
 *   4. existing files in the toolkits $CUDA_HOME, $CUDA_PATH and /usr/local/cuda
 *   5. files of the wheels in $VIRTUAL_ENV, in $CONDA_PREFIX, and in the environment that gputrace is installed in
 *   6. bare sonames, newest first, for the rest of the loader's own search
 * PATH is valid only during the call. Nothing is loaded or printed.
 */
int cupti_path_each(const char *preferred, int (*try)(void *context, const char *path), void *context);

/* --- classes of functions --- */

/*
 * The class of each function of CUDA's API, which decides whether its calls are recorded by default. The table is
 * api_classes.list. The agent enables only the calls that are recorded. An old CUPTI cannot enable single functions;
 * the tool drops the superfluous calls.
 */

enum api_class {
    API_ACTION, /* also functions that are not in the table */
    API_QUERY,
    API_STATUS,
};

/* Return the class of the function with CUPTI's callback id CBID. */
enum api_class api_runtime_class(uint32_t cbid);
enum api_class api_driver_class(uint32_t cbid);

/* Returns whether calls of functions of CLASS are recorded with TRACE_BITS. */
bool api_class_recorded(enum api_class class, uint64_t trace_bits);

#endif
