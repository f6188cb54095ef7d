/*
 * The parts of the plugin `hazards` that hear callbacks, and what they share. hazards.c says what it is all about.
 */
#ifndef SAMPLES_PLUGINS_HAZARDS_H
#define SAMPLES_PLUGINS_HAZARDS_H

#include <pthread.h>

#include <gputrace/callbacks.h>

#include "hazards_order.h"

/*
 * Memory that is allocated, what may still be using it, and memory that was freed.
 *
 * memory_use() compares a use with those before it and gives what it finds. Only memory whose allocation was seen is
 * looked at. Each region remembers what was done to it until the host knows that it is over: at most USES_MAX things,
 * then the oldest is forgotten (`forgotten` counts them; a hazard with it is missed).
 *
 * Freed memory is remembered until it is allocated again, at most FREED_MAX regions. Others than CUDA's allocating
 * functions may give its addresses a new meaning, as cuIpcOpenMemHandle and malloc() do; so a use of it is but a
 * suspicion (`ask`), for the caller to find out whether there is nothing at the address. Stream-ordered memory is an
 * exception until the host knows that it is freed: until then the pool cannot have given it away.
 *
 * One thread at a time.
 */

#define MEMORY_USES_MAX 256
#define MEMORY_FREED_MAX 4096
#define FINDINGS_MAX 16 /* of one call; more are left out */

enum finding_kind {
    FINDING_RACE,          /* nothing orders first and second */
    FINDING_FREED,         /* second uses what first has freed */
    FINDING_FREED_RACE,    /* the same, but nothing orders them: second may come first */
    FINDING_NOT_ALLOCATED, /* second may come before first, which allocates */
    FINDING_VOID,          /* first waits for an event that nobody records */
};

struct finding {
    enum finding_kind kind;
    bool ask;       /* true only when memory is exhausted */
    bool refused;   /* (second failed) */
    uint64_t probe; /* … at this address now */
    struct place first, second;
    uint32_t stream; /* of the first: its number in the order … */
    uint64_t time;   /* … and its time there */
};

struct findings {
    struct finding of[FINDINGS_MAX];
    unsigned count;
};

struct memory {
    struct regions live, arrays, freed;
    struct region *newest, *oldest; /* of those freed */
    uint64_t uses, sweep_at;
    uint64_t forgotten;
    bool incomplete; /* there was no memory for something */
};

void memory_release(struct memory *memory);

/* Memory was allocated; what was there before is gone. STREAM-ordered: USE is the allocation, else NULL. */
void memory_allocated(struct memory *memory, const struct gputrace_memory_allocation *what, const struct use *use);
/* Virtual addresses were mapped. */
void memory_mapped(struct memory *memory, const struct gputrace_memory_mapping *what);

/* The region that a deallocation is about, NULL: none that is known. */
struct region *memory_freeable(const struct memory *memory, const struct gputrace_memory_deallocation *what);
/* REGION is freed by USE; remembered when REMEMBER, and when it is memory that is CUDA's alone. */
void memory_freed(struct memory *memory, struct region *region, const struct use *use, bool remember);
void memory_unmapped(struct memory *memory, const struct gputrace_memory_unmapping *what, const struct use *use);
void memory_context_deleted(struct memory *memory, const struct gputrace_call *call);

/* Compares USE, which was just put into its stream of ORDER, with what there is, and remembers it. ARRAY: its place's
 * address is the array's handle. */
void memory_use(struct memory *memory, const struct order *order, const struct use *use, bool array,
                struct findings *findings);
/* A call that failed, and so did nothing, but wanted to use memory that was freed. */
void memory_tried(struct memory *memory, const struct use *use, struct findings *findings);

/*
 * What was found, reported once for each pair of places, and counted.
 *
 * A report is printed at once, so that it is there even when the program is killed: an instant in the trace, and two
 * lines with the stacks of both places. Repetitions are counted at the end.
 */

#define REPORTS_MAX 1000 /* kept apart; what more there is is only counted */

struct report {
    struct finding finding;
    uint64_t times;
};

struct reports {
    struct report *list;
    uint32_t count, top; /* of the list; of those that are printed */
    uint64_t more;       /* happened, beside those in the list */
    uint64_t start;      /* times count from here */
};

/* One thread at a time. */
void reports_add(struct reports *reports, const struct gputrace_host *host, const struct finding *finding);

/* What was judged, for the last line. */
struct judged {
    uint64_t operations, streams;
    uint64_t unjudged;  /* operations behind something that is not seen */
    uint64_t forgotten; /* earlier uses that there was no space for */
    bool incomplete;    /* for want of memory something was not looked at */
};

void reports_end(struct reports *reports, const struct gputrace_host *host, const struct judged *judged);

/*
 * The plugin as a whole.
 */

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
    uint32_t declared_count, declared_capacity;
    uint64_t operations, unjudged;
    struct finding held[HAZARDS_HELD_MAX]; /* not reported yet: hazards_memory.c */
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

/* Between these the lock is held; then what was found is printed. */
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
/* Gives the lock back, then reports what was found. */
void work_end(struct work *work);

/* BYTES are all that the shape has. ADDRESS is an array's handle where ARRAY. */
void work_use(struct work *work, enum place_what what, const struct shape *shape, uint64_t address, uint64_t bytes,
              bool array);
/* What a use of the work's would be. */
struct use work_use_of(const struct work *work, enum place_what what, const struct shape *shape, uint64_t address,
                       uint64_t bytes);

/* From now on launches are heard too. Without the lock. */
void hazards_want_launches(struct hazards *hazards);

/* The process ends, and all events with it: reports those that streams waited for and nobody recorded. */
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

/* Gives true when the driver says that no memory lies at ADDRESS. */
extern bool (*hazards_nothing_at)(uint64_t address);

#endif
