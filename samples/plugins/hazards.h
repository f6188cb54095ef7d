/*
 * The parts of the plugin `hazards` that hear callbacks, and what they share. hazards.c says what it is all about.
 */
#ifndef GPUTRACE_PLUGINS_HAZARDS_H
#define GPUTRACE_PLUGINS_HAZARDS_H

#include <gputrace/callbacks.h>
#include <pthread.h>

#include "hazards_memory.h"
#include "hazards_order.h"
#include "hazards_report.h"

#define HAZARDS_HELD_MAX 64

#define HAZARDS_LEGACY ((struct CUstream_st *)1)
#define HAZARDS_PER_THREAD ((struct CUstream_st *)2)

struct hazards {
    const struct gputrace_host *host;
    pthread_mutex_t lock; /* of all from here on; nothing that loads code or calls CUDA is done under it */
    struct order order;
    struct memory memory;
    struct reports reports;
    struct use *declared; /* accesses that the program declared, made by the work that is put into the stream next */
    uint32_t declared_count, declared_room;
    uint64_t operations, unjudged;
    struct finding held[HAZARDS_HELD_MAX]; /* not told yet: hazards_held.c */
    unsigned held_count;
    uint32_t thread;      /* the first that was seen */
    bool several_threads; /* there is another */
    uint32_t device;      /* the first that was seen, plus one */
    bool several_devices; /* there is another */
    bool launches;        /* we hear of launches */
    bool no_stacks, forked;
    const char *barrier; /* kernels with this in their name synchronise across streams; NULL: none but those known */
};

/* Each registers its callbacks. False: no memory. */
bool hazards_hear_sync(struct hazards *hazards);
bool hazards_hear_streams(struct hazards *hazards);
bool hazards_hear_events(struct hazards *hazards);
bool hazards_hear_memory(struct hazards *hazards);
bool hazards_hear_work(struct hazards *hazards);

/* --- a call that orders something --- */

/* Between these the lock is held; then what was found is told. */
struct turn {
    struct hazards *hazards;
    struct findings findings;
};
void turn_begin(struct turn *turn, struct hazards *hazards);
void turn_end(struct turn *turn);

/* What was declared for stream NUMBER (ORDER_STREAMS_MAX: for any) happens now, as something else is put there that may
 * be it, or is to be ordered after it. */
void turn_commit(struct turn *turn, uint32_t number);

/* The number of a stream that CALL is about, where what was declared happens now. */
uint32_t turn_stream(struct turn *turn, const struct gputrace_call *call, struct CUstream_st *stream);

/* --- one call that does something to memory --- */

struct work {
    struct turn turn;
    const struct gputrace_call *call;
    struct CUstream_st *stream;
    uint32_t stack, stream_id;
    uint32_t number; /* of the stream in the order … */
    uint64_t time;   /* … and its time there */
    bool runs;       /* it is not captured */
    bool judged;
};

/* Takes the stack, then the lock. */
void work_begin(struct work *work, struct hazards *hazards, const struct gputrace_call *call,
                struct CUstream_st *stream);
/* The work is put into its stream: from here on its fields are known. */
void work_put(struct work *work);
/* Gives the lock back, then tells what was found. */
void work_end(struct work *work);

/* BYTES are all that the shape has. ADDRESS is an array's handle where ARRAY. */
void work_use(struct work *work, enum place_what what, const struct shape *shape, uint64_t address, uint64_t bytes,
              bool array);
/* What a use of the work's would be. */
struct use work_use_of(const struct work *work, enum place_what what, const struct shape *shape, uint64_t address,
                       uint64_t bytes);

/* From now on launches are heard too. Without the lock. */
void hazards_want_launches(struct hazards *hazards);

/* The process ends, and all events with it: tells of those that streams waited for and nobody recorded. */
void hazards_finish_events(struct hazards *hazards);

/* Tells a finding, now or later, or counts it. Under the lock. */
void hazards_tell(struct hazards *hazards, const struct finding *finding);
/* Tells what was held for long enough, or at all. Under the lock. */
void hazards_tell_held(struct hazards *hazards, bool all);
/* CALL put something into stream NUMBER that may tell the host how far the stream has come: what was held because of
 * that is no hazard. Under the lock. */
void hazards_release(struct hazards *hazards, const struct gputrace_call *call, uint32_t number);
/* Nanoseconds that a finding is held. */
extern uint64_t hazards_hold;

/* Gives true when the driver says that there is no memory at ADDRESS. */
extern bool (*hazards_nothing_at)(uint64_t address);

#endif
