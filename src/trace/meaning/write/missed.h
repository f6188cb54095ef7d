/* What the user asked for and never came, such as a capture range or an NVTX domain. */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_MISSED_H
#define GPUTRACE_TRACE_MEANING_WRITE_MISSED_H

#include <stdbool.h>

#include "common/buffer.h"
#include "trace/names.h"

struct conversion;
struct json_out;

struct missed {
    struct interner ranges, domains; /* NVTX ranges and domains that the program used instead */
    bool started_outside;            /* the program started the capture, but outside of the time window */
    bool all;                        /* nothing was recorded */
    struct buffer text;              /* set by find_missed(), NUL-terminated; "": nothing is missing */
};

/* Finds what the user asked for and never came, after all records were read. Returns 0, or -1 after error(). */
int find_missed(struct conversion *conversion);
/* Writes the text, if there is any, as a key of the object that JSON is in. */
void write_missed(const struct conversion *conversion, struct json_out *json);
void release_missed(struct missed *missed);

#endif
