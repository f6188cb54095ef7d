/* What the user waited for in vain. */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_MISSED_H
#define GPUTRACE_TRACE_MEANING_WRITE_MISSED_H

#include <stdbool.h>

#include "common/buffer.h"
#include "trace/names.h"

struct conversion;
struct json_out;

struct missed {
    struct interner ranges, domains; /* that were there */
    bool started_outside;            /* the program started what was waited for, outside of the time window */
    bool all;                        /* nothing was recorded */
    struct buffer text;              /* once found; NUL-terminated, "": all that was waited for came */
};

/* Once all is known: finds what the user waited for in vain. Returns 0, or -1 after error(). */
int find_missed(struct conversion *conversion);
/* Its key and text, within an object, if there is any. */
void write_missed(const struct conversion *conversion, struct json_out *json);
void release_missed(struct missed *missed);

#endif
