/*
 * The class of each function of CUDA's API, which decides whether its calls are recorded by default. The table is
 * api_classes.list. The agent asks CUPTI for the recorded calls only; the tool drops the calls that an old CUPTI, which
 * cannot be asked, recorded nevertheless.
 */
#ifndef GPUTRACE_COMMON_API_CLASSES_H
#define GPUTRACE_COMMON_API_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

enum api_class {
    API_ACTION, /* also a function that is not in the table */
    API_QUERY,
    API_STATUS,
};

/* CBID is CUPTI's callback id of the function. */
enum api_class api_runtime_class(uint32_t cbid);
enum api_class api_driver_class(uint32_t cbid);

/* Whether calls of functions of CLASS are recorded with TRACE_BITS (common/settings.h). */
bool api_class_recorded(enum api_class class, uint64_t trace_bits);

#endif
