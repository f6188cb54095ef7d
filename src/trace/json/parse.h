/*
 * Memory for cJSON's trees of one event, given back all at once.
 *
 * cJSON allocates every value and every key on its own; for millions of small events that is most of its time. Between
 * arena_enter() and arena_leave() the calling thread's cJSON takes its memory from the arena, and frees nothing.
 */
#ifndef GPUTRACE_TRACE_JSON_PARSE_H
#define GPUTRACE_TRACE_JSON_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/event_fields.h"

/* A tree that takes more than this is refused: a hostile file may not take the machine's memory. */
#define ARENA_LIMIT ((size_t)256 * 1024 * 1024)

struct arena {
    struct arena_block *blocks; /* the newest first; the oldest is kept by arena_leave */
    size_t total;               /* bytes of all blocks */
    bool full;                  /* since arena_enter(): something was refused */
};

/* All zero is an empty arena. */
void arena_release(struct arena *arena);

/* From here on this thread's cJSON lives in ARENA. cJSON_Delete may be called, and does nothing. */
void arena_enter(struct arena *arena);

/* Forgets everything made since arena_enter(), and gives cJSON back its usual memory. */
void arena_leave(struct arena *arena);

struct cJSON;
struct interner;
struct scan;

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

/* In the place of 'X', of a slice that had not ended when its program wrote it. */
#define PHASE_OPEN '\1'

struct parser {
    struct arena arena;
    struct interner *strings;         /* where texts are put; not owned */
    struct cJSON *root;               /* of what was parsed last, until parser_clear() */
    struct buffer clean;              /* in memory: its text, where that is not as it stands in the file */
    size_t error_at;                  /* after PARSE_NOT_JSON and PARSE_NOT_AN_EVENT: the byte that is wrong, … */
    size_t string_at;                 /* … and where the last string before it begins */
    unsigned surrogates;              /* of what was parsed last: halves of pairs */
    enum json_problem problem;        /* after PARSE_NOT_AN_EVENT and PARSE_NOT_JSON: … */
    char message[JSON_MESSAGE_BYTES]; /* … what was found, and what was expected */
};

enum parse_result {
    PARSE_DONE,
    PARSE_NOT_JSON,     /* see error_at, problem and message */
    PARSE_NOT_AN_EVENT, /* JSON, but not what the format says; see problem and message */
    PARSE_NOTHING,      /* {}, which some writers put before or after the events */
    PARSE_TOO_LARGE,    /* its tree would take more than an arena holds, or than there is memory */
    PARSE_NO_MEMORY,
};

void parser_init(struct parser *parser, struct interner *strings);
void parser_release(struct parser *parser);

/* Adds what was wrong with the value at AT that PARSER parsed last. */
void parser_note_problems(const struct parser *parser, enum parse_result result, struct json_problems *problems,
                          uint64_t at, uint64_t line);

/* Whether the value TEXT[0..scan->length) is JSON: PARSE_DONE or PARSE_NOT_JSON. */
enum parse_result parser_check(struct parser *parser, const char *text, const struct scan *scan);

/* Parses the value TEXT[0..scan->length) into parser->root, which lives until parser_clear(). */
enum parse_result parser_json(struct parser *parser, const char *text, const struct scan *scan);
void parser_clear(struct parser *parser);

/* Parses the value TEXT[0..scan->length) as an event. */
enum parse_result parser_event(struct parser *parser, const char *text, const struct scan *scan,
                               struct event_fields *event);

/*
 * Reads an event and finds its border in one go, where it is written as programs write events: keys and texts without
 * escapes, numbers of usual size. Whatever else there is, valid or not, is left to the scan and to cJSON (parse.h), who
 * say what it means; so this never gives anything that they would not.
 */

struct event_fields;

/* Behind what is read stand so many bytes of zero. */
#define FAST_PATH_PADDING 16

enum fast_path_result {
    FAST_PATH_EVENT,
    FAST_PATH_FLOW, /* of the phases s, t and f: nothing is known of it */
    FAST_PATH_NOT,  /* it is not of this form, or does not end here */
};

/* The event that starts at TEXT[0]; sets *LENGTH to its bytes. STRINGS takes its texts. */
enum fast_path_result fast_path_event(const char *text, struct interner *strings, struct event_fields *event,
                                      size_t *length);

#endif
