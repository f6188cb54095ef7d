/* What session.json says of the run. */
#ifndef GPUTRACE_TRACE_MEANING_BASE_SESSION_H
#define GPUTRACE_TRACE_MEANING_BASE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

struct json_out;

struct session_note {
    void *json;               /* cJSON, NULL: there is no session.json */
    int64_t rank, world_size; /* -1: not known, or the program starts several */
    const char *host;         /* NULL: not known */
};

void session_note_read(struct session_note *session, const char *directory);
void session_note_release(struct session_note *session);
/* The option of this name; NULL, or 0, when it is not known. */
const char *session_note_text(const struct session_note *session, const char *option);
uint64_t session_note_number(const struct session_note *session, const char *option);
/* Its keys, within an object. */
void session_note_put(const struct session_note *session, struct json_out *json);

#endif
