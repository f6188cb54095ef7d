/*
 * The words of events: categories, and the arguments that are wanted with the fields they go to.
 */
#ifndef GPUTRACE_ANALYSIS_EVENT_FIELDS_H
#define GPUTRACE_ANALYSIS_EVENT_FIELDS_H

#include <stddef.h>

#include "analysis/event.h"

/* Times beyond 146 years are none, so that the difference of two always fits. */
#define EVENT_TIME_LIMIT (INT64_MAX / 2)

enum field_type { FIELD_NUMBER, FIELD_TEXT, FIELD_TRIPLE };

struct event_field {
    const char *key;
    enum field_type type;
    size_t offset; /* in struct trace_event */
};

/* Before the first question; more than once and by several threads if they like. */
void event_fields_init(void);

/* The argument called KEY; NULL: nobody wants it. */
const struct event_field *event_field_find(const char *key, size_t length);

enum event_category event_category_find(const char *word, size_t length);

/* An event of which nothing is told. Its extent is that of the struct, so that fields may be set in any order. */
extern const struct trace_event event_nothing;

/* Sets the extent to what the fields ask for. */
void event_find_extent(struct trace_event *event);
/* Makes EVENT one whose first EXTENT bytes are these, or a copy. It holds another event, or just has the whole struct's
 * extent: what that other one did not tell is not written again. */
void event_put(struct trace_event *event, const char *bytes, size_t extent);
void event_copy(struct trace_event *event, const struct trace_event *from);

/* Gives each of the event's texts, number N, NUMBERS[N]. */
void event_translate(struct trace_event *event, const uint32_t *numbers);

#endif
