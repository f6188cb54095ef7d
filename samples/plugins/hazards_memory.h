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
#ifndef GPUTRACE_PLUGINS_HAZARDS_MEMORY_H
#define GPUTRACE_PLUGINS_HAZARDS_MEMORY_H

#include "hazards_order.h"
#include "hazards_regions.h"

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
    bool ask;       /* true only when there is no memory … */
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

#endif
