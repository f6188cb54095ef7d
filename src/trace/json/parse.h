/*
 * The values of a trace in JSON: events, of which the fields are read, and metadata, which becomes a tree of cJSON's.
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
 * What can be wrong with the elements of a trace, each kind counted in one place for all readers of JSON. A kind has
 * the place and the words of the first element that has it.
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
    JSON_LEFT_OUT, /* how many there are of those for which an event is left out; then those for which it is not */
    JSON_SURROGATE = JSON_LEFT_OUT,
    JSON_STRAY, /* between events, or in the metadata: it is not JSON */
    JSON_PROBLEMS
};

#define JSON_MESSAGE_BYTES 192
struct json_problems {
    struct json_problem_count {
        uint64_t count;
        uint64_t at, line; /* of the first; at: in the batch or in the file */
        char message[JSON_MESSAGE_BYTES];
    } of[JSON_PROBLEMS];
    bool any;
};

/* Adds COUNT times PROBLEM, whose first is AT. MESSAGE: of that. */
void json_problems_add(struct json_problems *problems, enum json_problem problem, uint64_t count, uint64_t at,
                       uint64_t line, const char *message);

/* The phase, in place of 'X', of a slice that had not ended when its program wrote it. */
#define PHASE_OPEN '\1'

struct parser {
    struct interner *strings;         /* where texts are put; not owned */
    struct buffer plain;              /* in memory: texts without their escapes, and metadata that had to be cleaned */
    size_t error_at;                  /* after PARSE_CUT, PARSE_NOT_JSON and PARSE_NOT_AN_EVENT: the wrong byte, … */
    size_t string_at;                 /* … and where the last string before it begins */
    unsigned surrogates;              /* of what was parsed last: halves of pairs */
    enum json_problem problem;        /* after these: … */
    char message[JSON_MESSAGE_BYTES]; /* … what was found, and what was expected */
};

enum parse_result {
    PARSE_DONE,
    PARSE_FLOW,         /* an end of a flow that no section looks at: nothing is known of it */
    PARSE_CUT,          /* as PARSE_NOT_JSON, but with more text it may be JSON */
    PARSE_NOT_JSON,     /* see error_at, problem and message */
    PARSE_NOT_AN_EVENT, /* JSON, but not what the format says; see problem and message */
    PARSE_NOTHING,      /* {}, which some writers put before or after the events */
    PARSE_TOO_LARGE,    /* its tree would take more memory than a hostile file may have */
    PARSE_NO_MEMORY,
};

void parser_init(struct parser *parser, struct interner *strings);
void parser_release(struct parser *parser);

/* Adds what was wrong with the value at AT that PARSER parsed last. */
void parser_note_problems(const struct parser *parser, enum parse_result result, struct json_problems *problems,
                          uint64_t at, uint64_t line);

/* Whether TEXT is a JSON value: PARSE_DONE or PARSE_NOT_JSON. */
enum parse_result parser_check(struct parser *parser, const char *text, size_t length);

/* Parses TEXT into *ROOT, which the caller deletes. */
enum parse_result parser_json(struct parser *parser, const char *text, size_t length, struct cJSON **root);

/* How many bytes of zero stand behind the text of events. */
#define FAST_PATH_PADDING 16

/* Reads the event that begins TEXT, and sets *SIZE, of the text that is there, to what was read: after PARSE_CUT and
 * PARSE_NOT_JSON it stays as it is. Most flows connect events that have a correlation id too, and are half of a trace's
 * events: PyTorch's "fwdbwd" alone are read. */
enum parse_result parser_event(struct parser *parser, const char *text, size_t *size, struct event_fields *event);

/* --- fast_path.c, which parser_event() stands on --- */

/* PARSE_DONE or PARSE_FLOW, where the event is written as programs write events, and then its bytes; else PARSE_CUT:
 * whatever else there is, valid or not, is left to the functions below. */
enum parse_result fast_path_event(const char *text, const char *end, struct interner *strings,
                                  struct event_fields *event, size_t *length);

/* What an event lacks. */
struct event_fault {
    enum json_problem problem;
    const char *key, *expected;
};

/* Reads the event that TEXT is, an object of valid JSON, with PLAIN, a buffer in memory. Sets FAULT with
 * PARSE_NOT_AN_EVENT. */
enum parse_result event_read_members(const char *text, const char *end, struct interner *strings, struct buffer *plain,
                                     struct event_fields *event, struct event_fault *fault);

/* Sets what FIELD is of EVENT to VALUE, valid JSON with FAST_PATH_PADDING behind it, as that of an argument of an
 * event. PLAIN: in memory, with space for the texts, which may not move. False without memory. */
bool event_read_field(struct json_text value, const struct arg_field *field, struct interner *strings,
                      struct buffer *plain, struct event_fields *event);

#endif
