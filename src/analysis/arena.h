/*
 * Memory for cJSON's trees of one event, given back all at once.
 *
 * cJSON allocates every value and every key on its own; for millions of small events that is most of its time. Between
 * arena_enter() and arena_leave() the calling thread's cJSON takes its memory from the arena, and frees nothing.
 */
#ifndef GPUTRACE_ANALYSIS_ARENA_H
#define GPUTRACE_ANALYSIS_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* A tree that takes more than this is refused: a hostile file may not take the machine's memory. */
#define ARENA_LIMIT ((size_t)256 * 1024 * 1024)

struct arena {
    struct arena_block *blocks; /* the newest first; the oldest is kept by arena_leave */
    size_t total;               /* bytes of all blocks */
    bool full;                  /* since arena_enter(): something was refused */
};

/* All zero is an empty arena. */
void arena_release(struct arena *arena);

/* From here on this thread's cJSON lives in ARENA. cJSON_Delete may be called, and does nothing. */
void arena_enter(struct arena *arena);

/* Forgets everything made since arena_enter(), and gives cJSON back its usual memory. */
void arena_leave(struct arena *arena);

#endif
