/*
 * Slices and ranges whose begin and whose end are events of their own. The events may come in any order as long as all
 * between an event and its place lie in memory: they are held, sorted by row and time, and paired as a stack.
 */
#ifndef GPUTRACE_TRACE_JSON_PAIRS_H
#define GPUTRACE_TRACE_JSON_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"

/* Bytes of events that are begun and not ended, which are held in memory; those beyond are left out. */
#define PAIRS_OPEN_MOST ((size_t)64 << 20)

enum pairs_kind {
    PAIRS_BEGIN,
    PAIRS_END,
    PAIRS_OPEN, /* a begin that has no end */
};

struct pairs_event {
    uint64_t row;  /* slices of one row nest */
    uint64_t name; /* a hash; 0: an end has none, and is that of the innermost slice */
    int64_t time;
    enum pairs_kind kind;
    uint32_t size, partner; /* of its bytes; index of its end */
    size_t at;              /* of these in pairs.bytes */
};

struct pairs {
    /* Takes a slice: the bytes of its begin, and of its end; NULL: it has none. Returns 0, or -1 after error(). */
    int (*pass)(void *context, const char *begin, size_t size, const char *end, size_t end_size);
    void *context;
    ARRAY(struct pairs_event) events;
    ARRAY(uint32_t) open;
    struct buffer bytes;                   /* in memory */
    uint64_t unmatched, unended, too_many; /* ends without a begin; begins without an end; beyond PAIRS_OPEN_MOST */
};

void pairs_init(struct pairs *pairs, int (*pass)(void *, const char *, size_t, const char *, size_t), void *context);
void pairs_release(struct pairs *pairs);

/* Adds EVENT, of SIZE BYTES. AT_ONCE: if it ends the event that was added last, that is passed on now. Both return 0,
 * or -1 after error(). */
int pairs_add(struct pairs *pairs, struct pairs_event event, const char *bytes, size_t size, bool at_once);

/* Passes on all that are held, after the last, and warns of what has no begin or no end in the trace PATH. */
int pairs_finish(struct pairs *pairs, const char *path);

#endif
