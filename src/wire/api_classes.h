/*
 * Which functions of CUDA's API are queries: calls that only ask or keep books. They are left out of a trace by
 * default. The table is api_classes.list; the agent switches queries off in CUPTI, the tool leaves them out where CUPTI
 * is too old to be told.
 */
#ifndef GPUTRACE_WIRE_API_CLASSES_H
#define GPUTRACE_WIRE_API_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

/* CBID is CUPTI's callback id of the function. False for a function that the table does not know. */
bool api_runtime_is_query(uint32_t cbid);
bool api_driver_is_query(uint32_t cbid);

#endif
