/* The tables of record_table.h, CUPTI's records and the agent's, as arrays by event type. */
#include "trace/meaning/passes/event_passes.h"

#include <stddef.h>

#include "trace/meaning/base/event_functions.h"
#include "trace/spool/record_table.h"

#define no_index NULL
#define no_resolve NULL
#define no_write NULL
#define ALSO(...)

const struct event_passes cupti_passes[EVENT_TYPE_COUNT] = {
#define ROW(kind, event, decode, type, last, index, resolve, write, cause) \
    [EVENT_##event] = {index, resolve, write, cause},
    CUPTI_RECORDS(ROW, ALSO)
#undef ROW
};

const struct event_passes agent_passes[EVENT_TYPE_COUNT] = {
#define ROW(record, event, decode, index, resolve, write) [EVENT_##event] = {index, resolve, write, NO_CALL},
    AGENT_RECORDS(ROW, ALSO)
#undef ROW
};
