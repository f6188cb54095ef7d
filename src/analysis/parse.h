/*
 * One event's JSON to a struct trace_event. A parser has no state but its memory and its strings, so that several
 * threads could each parse events of their own blocks.
 */
#ifndef GPUTRACE_ANALYSIS_PARSE_H
#define GPUTRACE_ANALYSIS_PARSE_H

#include <stddef.h>

#include "analysis/arena.h"
#include "analysis/event.h"

struct cJSON;
struct interner;
struct scan;

struct parser {
    struct arena arena;
    struct interner *strings; /* where texts are put; not owned */
    struct cJSON *root;       /* of what was parsed last, until parser_clear() */
    size_t error_at;          /* after PARSE_NOT_JSON: the byte that could not be understood */
    const char *expected;     /* after PARSE_NOT_AN_EVENT: what the event should have had */
};

enum parse_result {
    PARSE_DONE,
    PARSE_NOT_JSON,     /* see error_at */
    PARSE_NOT_AN_EVENT, /* JSON, but not what the format says; see expected */
    PARSE_TOO_LARGE,    /* its tree would take more than an arena holds, or than there is memory */
    PARSE_NO_MEMORY,
};

void parser_init(struct parser *parser, struct interner *strings);
void parser_release(struct parser *parser);

/* Whether the value TEXT[0..scan->length) is JSON: PARSE_DONE or PARSE_NOT_JSON. */
enum parse_result parser_check(struct parser *parser, const char *text, const struct scan *scan);

/* Parses the value TEXT[0..scan->length) into parser->root, which lives until parser_clear(). */
enum parse_result parser_json(struct parser *parser, const char *text, const struct scan *scan);
void parser_clear(struct parser *parser);

/* Parses the value TEXT[0..scan->length) as an event. */
enum parse_result parser_event(struct parser *parser, const char *text, const struct scan *scan,
                               struct trace_event *event);

#endif
