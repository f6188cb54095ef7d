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
#ifndef GPUTRACE_PLUGINS_HAZARDS_ORDER_H
#define GPUTRACE_PLUGINS_HAZARDS_ORDER_H

#include <gputrace/callbacks.h>

#include "address_map.h"
#include "hazards_clock.h"
#include "hazards_place.h"

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
    uint32_t event_count, event_room, event_free; /* event_free: as next_free */
    uint32_t captures;                            /* how many there were: the number of the last */
    struct CUctx_st *context;                     /* the last that was seen */
    bool contexts;                                /* there was another before */
    uint64_t graphs;                              /* launched */
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

#endif
