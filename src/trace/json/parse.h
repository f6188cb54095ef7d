/*
 * Parses the values of a JSON trace: events into their fields, metadata into trees of cJSON.
 */
#ifndef GPUTRACE_TRACE_JSON_PARSE_H
#define GPUTRACE_TRACE_JSON_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/event_fields.h"
#include "trace/json/text.h"

struct cJSON;
struct interner;

/*
 * The problems that elements of a trace may have. All readers of JSON count them here; of each kind the place and the
 * message of the first are kept.
 */
enum json_problem {
    JSON_NOT_JSON,
    JSON_NO_OBJECT,
    JSON_NO_PHASE,
    JSON_NO_NAME,
    JSON_NO_TIME,
    JSON_NO_DURATION,
    JSON_BAD_DURATION,
    JSON_BAD_ROW, /* "pid", "tid" or "id" is an object, an array, true or false */
    JSON_NO_TIMES,
    JSON_LEFT_OUT, /* the kinds before this leave the event out, the kinds from here on do not */
    JSON_SURROGATE = JSON_LEFT_OUT,
    JSON_STRAY, /* text between events or in the metadata is not JSON */
    JSON_PROBLEMS
};

#define JSON_MESSAGE_BYTES 192
struct json_problems {
    struct json_problem_count {
        uint64_t count;
        uint64_t at, line; /* place of the first; `at` counts from the start of the batch or file */
        char message[JSON_MESSAGE_BYTES];
    } of[JSON_PROBLEMS];
    bool any;
};

/* Counts COUNT times PROBLEM. AT, LINE and MESSAGE are those of the first. */
void json_problems_add(struct json_problems *problems, enum json_problem problem, uint64_t count, uint64_t at,
                       uint64_t line, const char *message);

/* The phase, instead of 'X', of a slice without "dur": it had not ended when its program wrote it. */
#define PHASE_OPEN '\1'

struct parser {
    struct interner *strings;  /* stores the texts; not owned */
    struct buffer plain;       /* scratch in memory: texts without their escapes, cleaned metadata */
    size_t error_at;           /* offset of the wrong byte, after PARSE_CUT, PARSE_NOT_JSON and PARSE_NOT_AN_EVENT */
    size_t string_at;          /* offset of the last string before the wrong byte */
    unsigned surrogates;       /* halves of surrogate pairs in the value that was parsed last */
    enum json_problem problem; /* kind of the error, after those three results */
    char message[JSON_MESSAGE_BYTES]; /* text of the error: what was found, and what was expected */
};

enum parse_result {
    PARSE_DONE,
    PARSE_FLOW,         /* a flow event, which is skipped unread */
    PARSE_CUT,          /* not JSON, but with more text it may become JSON; see error_at, problem and message */
    PARSE_NOT_JSON,     /* see error_at, problem and message */
    PARSE_NOT_AN_EVENT, /* JSON, but not a valid event; see problem and message */
    PARSE_NOTHING,      /* {}, which some programs write before or after the events */
    PARSE_TOO_LARGE,    /* its tree would exceed the limit that protects us from hostile files */
    PARSE_NO_MEMORY,
};

void parser_init(struct parser *parser, struct interner *strings);
void parser_release(struct parser *parser);

/* Counts the problems of the value that PARSER parsed last; AT and LINE are its place. */
void parser_note_problems(const struct parser *parser, enum parse_result result, struct json_problems *problems,
                          uint64_t at, uint64_t line);

/* Checks that TEXT is a JSON value. Returns PARSE_DONE or PARSE_NOT_JSON. */
enum parse_result parser_check(struct parser *parser, const char *text, size_t length);

/* Parses TEXT into *ROOT, which the caller deletes; NULL unless PARSE_DONE is returned. */
enum parse_result parser_json(struct parser *parser, const char *text, size_t length, struct cJSON **root);

/* How many zero bytes must follow the text of events. */
#define FAST_PATH_PADDING 16

/* Reads the event at the start of TEXT, of *SIZE bytes, and sets *SIZE to the event's bytes, except after PARSE_CUT and
 * PARSE_NOT_JSON. Half of a trace's events are flows, which mostly connect events with a common correlation id, so only
 * PyTorch's "fwdbwd" flows are read. */
enum parse_result parser_event(struct parser *parser, const char *text, size_t *size, struct event_fields *event);

/* --- fast_path.c, for parser_event() --- */

/* Reads an event that is written as usual, and sets *LENGTH to its bytes. Returns PARSE_DONE or PARSE_FLOW, or
 * PARSE_CUT for any other text, valid or not, which event_read_members() may read. */
enum parse_result fast_path_event(const char *text, const char *end, struct interner *strings,
                                  struct event_fields *event, size_t *length);

/* A key of an event with a wrong or missing value, and what was expected. */
struct event_fault {
    enum json_problem problem;
    const char *key, *expected;
};

/* Reads the event TEXT, an object of valid JSON. PLAIN is scratch in memory. Sets FAULT if PARSE_NOT_AN_EVENT is
 * returned. */
enum parse_result event_read_members(const char *text, const char *end, struct interner *strings, struct buffer *plain,
                                     struct event_fields *event, struct event_fault *fault);

/* Sets FIELD of EVENT to VALUE, an argument's valid JSON that FAST_PATH_PADDING zeros follow. PLAIN is scratch in
 * memory with space for the texts, as it must not move. Returns false without memory. */
bool event_read_field(struct json_text value, const struct arg_field *field, struct interner *strings,
                      struct buffer *plain, struct event_fields *event);

#endif
