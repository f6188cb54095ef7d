/*
 * The class of each function of CUDA's API, which decides whether its calls are recorded by default. The table is
 * api_classes.list. The agent switches on in CUPTI what is to be recorded; the tool leaves out what a CUPTI recorded
 * that is too old to be told.
 */
#ifndef GPUTRACE_COMMON_API_CLASSES_H
#define GPUTRACE_COMMON_API_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

enum api_class {
    API_ACTION, /* also a function that the table does not know */
    API_QUERY,
    API_STATUS,
};

/* CBID is CUPTI's callback id of the function. */
enum api_class api_runtime_class(uint32_t cbid);
enum api_class api_driver_class(uint32_t cbid);

/* Whether calls of functions of CLASS are recorded with TRACE_BITS (common/settings.h). */
bool api_class_recorded(enum api_class class, uint64_t trace_bits);

#endif
