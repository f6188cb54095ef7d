/*
 * Giving memory back to the driver: when nobody uses it any more, and when no capture is in the way.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_GIVE_BACK_H
#define GPUTRACE_AGENT_ALLOCATOR_GIVE_BACK_H

#include "agent/allocator/heap.h"

/* Gives BLOCK back, which the program has freed in `freed_in` and nobody else has: at once; when graphs that hold it
 * are gone; or, while one of its streams is being captured, when that is over. */
void give_back(struct heap *heap, struct block *block);

/* Looks after what had to wait. Cheap when there is none. */
void give_back_pending(struct heap *heap);

/* In two steps, with a lock between them. BLOCK, which nobody uses, is accounted as given back and recycled: with the
 * heap's lock held. */
struct give_back_step {
    uint64_t address;
    size_t bytes;
    CUmemoryPool pool; /* that it was the last block of, and that is to go; or NULL */
};
struct give_back_step give_back_begin(struct heap *heap, struct block *block);
/* Frees it in STREAM: without the lock. */
void give_back_end(struct heap *heap, const struct give_back_step *step, CUstream stream);

#endif
