/*
 * What payloads say of the event that they are of: its message, category and colour, when it began and ended by which
 * clock, where it comes from. What is said later counts more, in the order of payloads and entries.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_FACTS_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/build/payload_view.h"

#define PAYLOAD_MESSAGE_BYTES 1024 /* of a message that is not UTF-8 */

struct payload_moment {
    bool told;
    int64_t ticks;
    uint64_t clock; /* 0: not told */
};

struct payload_facts {
    struct payload_text message; /* lies in the spool, or in `wide` */
    struct payload_moment begin, end, mark;
    uint64_t role; /* PAYLOAD_SCHEMA_PUSHPOP …, 0: not told */
    uint64_t scope;
    unsigned scope_rank; /* how much what told the scope counts; 0: nothing did */
    uint32_t category, color;
    bool has_category, has_color;
    char wide[PAYLOAD_MESSAGE_BYTES]; /* not initialised */
};

/* Ranks of what tells a scope, as NVTX orders them. */
enum {
    PAYLOAD_SCOPE_BY_SEMANTICS = 1,
    PAYLOAD_SCOPE_BY_BATCH = 2,
    PAYLOAD_SCOPE_BY_ENTRY = 3,
    PAYLOAD_SCOPE_BY_ROLE_SEMANTICS = 4,
    PAYLOAD_SCOPE_BY_ROLE_ENTRY = 5,
};

/* Reads all payloads of the view; or, when STRIDE is not 0, event N of those in the first. False: it has no event N. */
bool payload_facts_read(struct payload_facts *facts, struct payload_view *view, uint64_t stride, uint64_t n);

#endif
