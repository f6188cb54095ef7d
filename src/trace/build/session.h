/* What session.json says of the run, and what the user waited for in vain. */
#ifndef GPUTRACE_TRACE_BUILD_SESSION_H
#define GPUTRACE_TRACE_BUILD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/names.h"

struct conversion;
struct json_out;
struct session_note {
    void *json;               /* cJSON, NULL: there is no session.json */
    int64_t rank, world_size; /* -1: not known, or the program starts several */
    const char *host;         /* NULL: not known */
};
struct missed {
    struct interner ranges, domains; /* that were there */
    bool started_outside;            /* the program started what was waited for, outside of the time window */
    bool all;                        /* nothing was recorded */
    struct buffer text;              /* once found; NUL-terminated, "": all that was waited for came */
};

void session_note_read(struct session_note *session, const char *directory);
void session_note_release(struct session_note *session);
/* The option of this name; NULL, or 0, when it is not known. */
const char *session_note_text(const struct session_note *session, const char *option);
uint64_t session_note_number(const struct session_note *session, const char *option);
/* Its keys, within an object. */
void session_note_put(const struct session_note *session, struct json_out *json);
/* Once all is known: finds what the user waited for in vain. Returns 0, or -1 after error(). */
int find_missed(struct conversion *conversion);
/* Its key and text, within an object, if there is any. */
void write_missed(const struct conversion *conversion, struct json_out *json);
void release_missed(struct missed *missed);

#endif
