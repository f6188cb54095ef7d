/*
 * Arguments of events of the writers' side as fields of the report's: what reading their JSON would give.
 */
#ifndef GPUTRACE_CLI_EVENT_ARGS_H
#define GPUTRACE_CLI_EVENT_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace_event.h"
#include "trace/sink.h"

/* Once, before all else. */
void event_args_init(void);

/* Whether JSON alone says what one of ARGS (NULL: there are none) is. */
bool event_args_need_json(const struct args *args);

/* Takes those that are wanted. */
void event_args_take(struct writer *writer, const struct args *args, struct trace_event *event);

/* A number as it is read: as a double, and OTHERWISE when it is too large. */
int64_t event_args_number(uint64_t value, int64_t otherwise);
int64_t event_args_signed(int64_t value, int64_t otherwise);
/* That of a text, "0x7f00"; OTHERWISE when there is none. */
int64_t event_args_text_number(const char *text, size_t length, int64_t otherwise);

#endif
