/*
 * What is ordered before what: a vector clock for each stream, each event and the host.
 *
 * All threads of the program are one host: what one of them waited for counts as known to all, because how threads tell
 * each other cannot be seen. Work that is put into a stream comes after all that was put there before, and all that the
 * host knew when it was put.
 *
 *     put into a stream        the stream learns what the host knows, and counts one further
 *     event recorded           the event knows what the stream knows
 *     stream waits for event   the stream learns what the event knew when it was last recorded
 *     host waited, or asked    the host learns what the stream or event knows
 *     legacy default stream    learns, at each use, what all blocking streams of its context know, and they learn at
 *                              theirs what it knows
 *
 * Where CUDA may synchronise in ways that are not seen, too much is taken to be ordered, never too little:
 *
 *     release   something unseen may learn how far a stream has come (a function of the host, a written value, a graph,
 *               an event of another process): the host knows it at once.
 *     gate      a stream may wait for something unseen, even for what is put elsewhere later (the same, or a waited
 *               value). What is put behind a gate is not judged until the host was seen to wait for the gate.
 *     capture   what is put into a stream that is being captured does not run, and is not judged.
 *
 * A stream is a number below ORDER_STREAMS_MAX, which is given again when what it stood for is gone and done. Without
 * memory for a clock nothing is judged any more (`broken`). One thread at a time.
 */
#ifndef SAMPLES_PLUGINS_HAZARDS_ORDER_H
#define SAMPLES_PLUGINS_HAZARDS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/callbacks.h>

#include "address_map.h"

/*
 * Places: what was done, where, when and by which call, as it is printed when it is one side of a hazard.
 */

/*    what            noun                  what it does to the bytes */
#define PLACE_WHATS(X)                             \
    X(COPY_FROM, "copy", "reads")                  \
    X(COPY_TO, "copy", "writes")                   \
    X(SET, "set", "writes")                        \
    X(DECLARED_READ, "declared access", "reads")   \
    X(DECLARED_WRITE, "declared access", "writes") \
    X(ALLOCATION, "allocation", "allocates")       \
    X(FREE, "free", "frees")                       \
    X(WAIT, "wait", "waits for")

enum place_what {
#define WHAT(name, noun, verb) PLACE_##name,
    PLACE_WHATS(WHAT)
#undef WHAT
        PLACE_WHAT_COUNT
};

struct place {
    enum place_what what;
    uint32_t stack;             /* gputrace_stack(), 0: none */
    uint64_t time;              /* when it was called */
    const char *function;       /* lives for ever; NULL: gputrace_access() */
    struct CUstream_st *stream; /* as the program gave it */
    uint32_t stream_id;         /* GPUTRACE_NO_STREAM: not known */
    uint32_t thread;
    uint32_t in_stream;      /* 0: in none, the call itself did it */
    uint64_t address, bytes; /* of memory: the first byte and how many; of an array its handle; of a wait the event */
};

/*
 * Vector clocks: how far each stream is known to have come. A stream is a number from 0 on, how far is the count of
 * what was put into it. What a clock says nothing about is 0: nothing known to be done.
 *
 * Functions that may need memory give false when there was none; then the clock is as before.
 */

struct clock {
    uint64_t *at;
    uint32_t count;
};

void clock_release(struct clock *clock);

static inline uint64_t clock_get(const struct clock *clock, uint32_t stream)
{
    return stream < clock->count ? clock->at[stream] : 0;
}

/* STREAM is known to have come to TIME at least. */
bool clock_raise(struct clock *clock, uint32_t stream, uint64_t time);

/* What FROM knows is known to TO too. */
bool clock_join(struct clock *to, const struct clock *from);

bool clock_copy(struct clock *to, const struct clock *from);

/* All that PART knows is known to WHOLE. */
bool clock_covers(const struct clock *whole, const struct clock *part);

/*
 * The order.
 */

#define ORDER_STREAMS_MAX 256

enum order_sort { ORDER_CREATED, ORDER_LEGACY, ORDER_PER_THREAD };

struct order_stream {
    enum order_sort sort;
    bool live;     /* not destroyed; else what was put into it may still run */
    bool blocking; /* the legacy default stream synchronises with it */
    struct CUstream_st *handle;
    struct CUctx_st *context; /* NULL: not known */
    uint32_t device;          /* GPUTRACE_NO_DEVICE: not known */
    uint32_t thread;          /* of ORDER_PER_THREAD */
    uint32_t stream_id;
    uint32_t capture;   /* number of the capture it is in, 0: none */
    uint64_t used;      /* order.puts when it was last used */
    struct clock seen;  /* done before what is put next */
    struct clock gates; /* gates that what is put next is behind */
};

struct order_event {
    struct CUevent_st *handle; /* NULL: free */
    uint32_t next_free;        /* of a free one: the next, plus one; 0: none */
    bool created;              /* we saw it; else others may have recorded it */
    uint64_t created_end;      /* when the call that made it was over */
    bool shared;               /* with other processes */
    bool recorded;
    uint32_t capture;   /* number of the capture it was recorded in last, 0: not in one */
    bool captured;      /* at any time */
    bool waited;        /* for, when it had not been recorded */
    struct place place; /* of that; its stack is the caller's to fill in */
    struct clock seen, gates;
};

struct order {
    struct order_stream streams[ORDER_STREAMS_MAX];
    uint32_t count; /* of streams[] that were ever used */
    struct clock host;
    struct clock done;           /* gates that the host was seen to wait for */
    struct clock graph_gates;    /* behind which graphs may have recorded events */
    struct address_map event_of; /* handle -> where in events[], plus one */
    struct order_event *events;
    uint32_t event_count, event_capacity, event_free; /* event_free: as next_free */
    uint32_t captures;                                /* how many there were: the number of the last */
    struct CUctx_st *context;                         /* the last that was seen */
    bool contexts;                                    /* there was another before */
    uint64_t graphs;                                  /* launched */
    uint64_t puts, streams_made;
    bool broken;
};

void order_release(struct order *order);

/* --- streams --- */

/* The number of a stream, as the program gave it to CALL: NULL and 1 are the legacy default stream of the call's
 * context, 2 is the one of the thread. One never seen before counts as blocking. */
uint32_t order_stream_of(struct order *order, const struct gputrace_call *call, struct CUstream_st *stream);

void order_stream_created(struct order *order, const struct gputrace_stream_creation *what);
void order_stream_deleted(struct order *order, const struct gputrace_stream_deletion *what);
void order_context_deleted(struct order *order, const struct gputrace_call *call);

/* Work is put into STREAM: gives its time there. */
uint64_t order_put(struct order *order, uint32_t stream);

/* What was put last into STREAM runs, and all that it may be ordered by is known. */
bool order_judges(const struct order *order, uint32_t stream);

/* What was put into BEFORE at TIME is done before what was put last into STREAM. */
static inline bool order_is_before(const struct order *order, uint32_t before, uint64_t time, uint32_t stream)
{
    return clock_get(&order->streams[stream].seen, before) >= time;
}

/* … is done before whatever is put from now on. */
static inline bool order_is_done(const struct order *order, uint32_t before, uint64_t time)
{
    return clock_get(&order->host, before) >= time;
}

/* STREAM learns what the host knows and, through the legacy default stream, others; GATES: also their gates. */
void order_settle(struct order *order, uint32_t stream, bool gates);

/* TO learns what FROM knows. */
static inline void order_join(struct order *order, struct clock *to, const struct clock *from)
{
    if (!clock_join(to, from))
        order->broken = true;
}

/* --- the host --- */

/* It was seen to wait for a stream; for all of a device, GPUTRACE_NO_DEVICE: of every one. */
void order_host_waited(struct order *order, uint32_t stream);
void order_host_waited_device(struct order *order, uint32_t device);
/* The same, but CUDA does not promise it: enough not to report, not enough to open gates. */
void order_host_may_know(struct order *order, uint32_t stream);
void order_host_may_know_device(struct order *order, uint32_t device);

void order_gate(struct order *order, uint32_t stream);

void order_graph_launched(struct order *order, uint32_t stream);

void order_capture_started(struct order *order, uint32_t stream);
void order_capture_ended(struct order *order, uint32_t stream);

/* --- events --- */

/* The event of that handle, NULL: never seen. Valid until the next one is made. */
struct order_event *order_event_of(struct order *order, struct CUevent_st *handle);

void order_event_created(struct order *order, const struct gputrace_event_creation *what);
/* The event that a deletion is about, NULL: none that is known. */
struct order_event *order_event_deletable(struct order *order, const struct gputrace_event_deletion *what);
void order_event_deleted(struct order *order, struct order_event *event);
void order_event_recorded(struct order *order, struct CUevent_st *handle, uint32_t stream);
/* Of all work of a device, for cuCtxRecordEvent: as if of a stream that waits for all of its streams. */
void order_event_recorded_device(struct order *order, struct CUevent_st *handle, uint32_t device);
/* False: it is known that the event was not recorded yet. */
bool order_event_waited(struct order *order, struct CUevent_st *handle, uint32_t stream);
/* … and for cuCtxWaitEvent: all that is put later, anywhere, is taken to wait. */
void order_event_waited_device(struct order *order, struct CUevent_st *handle);
/* The host waited for it, or asked and heard that it is done. */
void order_event_synchronized(struct order *order, struct CUevent_st *handle);

/* It was waited for, and never recorded, by nobody. */
bool order_event_is_void(const struct order *order, const struct order_event *event);

/*
 * Shapes: the bytes that a copy or a set touches, and whether two of them share one.
 *
 * A shape is a box of slices of rows, each row a run of bytes. The bytes between rows and between slices do not belong
 * to it: halo columns of one matrix that lie side by side do not overlap, though their first and last bytes interleave.
 */

struct shape {
    uint64_t start;         /* address of the first byte */
    uint64_t width;         /* bytes of a row */
    uint64_t height, pitch; /* rows, and bytes from one to the next */
    uint64_t depth, slice;  /* slices, and bytes from one to the next */
};

/* BYTES bytes from START on. */
struct shape shape_run(uint64_t start, uint64_t bytes);

/* PITCH 0: as wide as a row. ROWS from a slice to the next, 0: as many as it is high. What is one run becomes one. */
struct shape shape_box(uint64_t start, uint64_t width, uint64_t height, uint64_t pitch, uint64_t depth, uint64_t rows);

/* A box within an array. Where arrays keep their bytes is unknown, so each gets addresses of its own from 0 on, in
 * which all its boxes have the same pitch; shapes of different arrays must not be compared. */
struct shape shape_array_box(uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t height, uint64_t depth);

static inline bool shape_is_empty(const struct shape *shape)
{
    return shape->width == 0 || shape->height == 0 || shape->depth == 0;
}

/* Behind its last byte. */
uint64_t shape_end(const struct shape *shape);

enum shapes { SHAPES_APART, SHAPES_OVERLAP, SHAPES_UNKNOWN };

/* Exact; SHAPES_UNKNOWN when that would take too long, as with two boxes of very many rows and different pitches, or
 * when a shape is none that CUDA would accept. */
enum shapes shapes_compare(const struct shape *a, const struct shape *b);

/* Every byte of PART is known to belong to WHOLE. False may mean that it is not known. */
bool shape_covers(const struct shape *whole, const struct shape *part);

/*
 * Regions of memory by address, none of which overlap: a treap, so that finding, adding and removing take the logarithm
 * of their number. A region belongs to one tree at a time; it is the caller's. One thread at a time.
 */

/* Something that was done to memory of a region and may still be going on. */
struct use {
    uint32_t stream; /* its number in the order … */
    bool writes;
    uint64_t time; /* … and its time there */
    struct shape shape;
    struct place place;
};

struct region {
    uint64_t address, bytes;
    uint64_t allocated;       /* when the call that allocated it was over */
    struct CUctx_st *context; /* that allocated it */
    uint32_t device;
    uint32_t kind; /* enum gputrace_memory_kind */
    struct use *uses;
    uint32_t use_count, use_capacity;
    uint32_t overwritten; /* uses, for want of space */
    struct use freed; /* of one that was freed: by whom; its stream is ORDER_STREAMS_MAX where the host waited for it */
    struct region *left, *right, *older, *newer; /* the tree's, and of freed ones by age */
    uint32_t weight;
};

struct regions {
    struct region *root;
    uint64_t count;
    uint32_t random;
};

static inline uint64_t region_end(const struct region *region)
{
    return region->address + region->bytes;
}

/* The one with the lowest address of those that end behind ADDRESS; NULL: none. */
struct region *regions_from(const struct regions *regions, uint64_t address);

/* The one that holds ADDRESS, or NULL. */
struct region *regions_at(const struct regions *regions, uint64_t address);

void regions_add(struct regions *regions, struct region *region);
void regions_remove(struct regions *regions, struct region *region);

#endif
