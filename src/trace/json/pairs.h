/*
 * Joins the two events of a slice or range that begins and ends with separate events. Events may come in any order as
 * long as those between an event and its proper place fit into memory: the events are held, sorted by row and time, and
 * paired with a stack.
 */
#ifndef GPUTRACE_TRACE_JSON_PAIRS_H
#define GPUTRACE_TRACE_JSON_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"

/* The most bytes of begins without an end that are held in memory. Further ones are dropped and counted. */
#define PAIRS_OPEN_MOST ((size_t)64 << 20)

enum pairs_kind {
    PAIRS_BEGIN,
    PAIRS_END,
    PAIRS_OPEN, /* a begin that never gets an end */
};

struct pairs_event {
    uint64_t row;  /* key of the row; slices of a row nest */
    uint64_t name; /* hash of the name; an end with 0 ends the innermost slice */
    int64_t time;
    enum pairs_kind kind;
    uint32_t size, partner; /* bytes of the event; for a begin, index of its end */
    size_t at;              /* offset of the bytes in pairs.bytes */
};

struct pairs {
    /* Receives a slice as the bytes of its begin and end event; END is NULL if it has no end. Returns 0, or -1 after
     * error(). */
    int (*pass)(void *context, const char *begin, size_t size, const char *end, size_t end_size);
    void *context;
    ARRAY(struct pairs_event) events;
    ARRAY(uint32_t) open;
    struct buffer bytes;                   /* in memory */
    uint64_t unmatched, unended, too_many; /* counts: ends without begin, begins without end, dropped */
};

void pairs_init(struct pairs *pairs, int (*pass)(void *, const char *, size_t, const char *, size_t), void *context);
void pairs_release(struct pairs *pairs);

/* Adds EVENT with SIZE bytes BYTES. AT_ONCE: if EVENT ends the event that was added last, their slice is passed on at
 * once. Returns 0, or -1 after error(). */
int pairs_add(struct pairs *pairs, struct pairs_event event, const char *bytes, size_t size, bool at_once);

/* Passes on all slices that are held, after the last event, and warns of unmatched events in the trace PATH. Returns 0,
 * or -1 after error(). */
int pairs_finish(struct pairs *pairs, const char *path);

#endif
