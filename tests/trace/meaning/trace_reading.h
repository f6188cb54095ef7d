/*
 * Reads back traces that tests made: strictly, event by event.
 */
#ifndef GPUTRACE_TESTS_TOOL_CONVERT_TRACE_READING_H
#define GPUTRACE_TESTS_TOOL_CONVERT_TRACE_READING_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "tests/trace/meaning/make_spool.h"
#include "trace/meaning/passes/passes.h"

struct trace {
    char *text; /* the file, NUL-terminated */
    size_t length;
    cJSON *json;
    cJSON *events; /* its traceEvents */
    struct convert_summary summary;
};

/* Converts DIRECTORY into DIRECTORY/trace.json, or the file name given, and reads it. Aborts when it is no strict JSON,
 * holds invalid UTF-8, or is not sound: slices that do not nest, flows without both ends, ids beyond 32 bits. */
struct trace trace_convert(const char *directory);
struct trace trace_convert_to(const char *directory, const char *file);
/* With names for frames of stacks; NAMER may be NULL. */
struct trace trace_convert_named(const char *directory, const char *file, const struct frame_namer *namer);
/* The same for one spool, which is saved and released. */
struct trace trace_of(struct make_spool *spool);
/* The same, after the end of the chunk at hand. */
struct trace trace_of_done(struct make_spool *spool);
struct trace trace_of_named(struct make_spool *spool, const struct frame_namer *namer);
void trace_release(struct trace *trace);

/* The Nth event (from 0) of this phase and category whose name begins with NAME; NULL for any. NULL: there is none. */
const cJSON *trace_event(const struct trace *trace, const char *phase, const char *category, const char *name, int n);
int trace_count(const struct trace *trace, const char *phase, const char *category, const char *name);

/* Members; they abort when these are missing or of another type. Times are ns after MAKE_SPOOL_START's second. */
double event_number(const cJSON *event, const char *key);
long event_ns(const cJSON *event, const char *key);
const char *event_text(const cJSON *event, const char *key);
bool arg_is(const cJSON *event, const char *key, double value);
bool arg_text_is(const cJSON *event, const char *key, const char *text);
const cJSON *event_arg(const cJSON *event, const char *key); /* NULL: there is none */

/* The name of a row, by its metadata event; NULL: it has none. */
const char *row_name(const struct trace *trace, const cJSON *event);

#endif
