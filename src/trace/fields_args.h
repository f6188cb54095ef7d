/*
 * Arguments of events as numbers of struct event_fields. False: JSON alone says what the argument means, so that the
 * event must be read as JSON. What is not a number leaves the field as it is.
 */
#ifndef GPUTRACE_TRACE_FIELDS_ARGS_H
#define GPUTRACE_TRACE_FIELDS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/event_fields.h"

static inline bool fields_take_number(const struct arg *arg, int64_t *number)
{
    switch (arg->type) {
    case ARG_TYPE_U64:
    case ARG_TYPE_HEX: *number = event_unsigned(arg->u64, *number); return true;
    case ARG_TYPE_I64: *number = event_signed(arg->i64, *number); return true;
    case ARG_TYPE_FIXED: *number = event_real(arg->real, *number); return true;
    case ARG_TYPE_TEXT: *number = event_number_of_text(arg->text, arg->length, *number); return true;
    case ARG_TYPE_TRUE: *number = 1; return true;
    case ARG_TYPE_FALSE: *number = 0; return true;
    case ARG_TYPE_SIZE3: return true;
    default: return false;
    }
}

static inline bool fields_take_triple(const struct arg *arg, int64_t triple[3])
{
    for (int i = 0; i < 3 && arg->type == ARG_TYPE_SIZE3; i++)
        triple[i] = arg->size3[i];
    return arg->type != ARG_TYPE_RAW && arg->type != ARG_TYPE_JSON;
}

#endif
