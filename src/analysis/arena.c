#include "analysis/arena.h"

#include <pthread.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#define BLOCK_BYTES ((size_t)64 * 1024)
#define ALIGNMENT 16

struct arena_block {
    struct arena_block *older;
    size_t used, size;
    _Alignas(ALIGNMENT) char data[];
};

/* cJSON's hooks know no context, so the arena of the moment is the thread's. */
static _Thread_local struct arena *current;
static pthread_once_t hooked = PTHREAD_ONCE_INIT;

static struct arena_block *add_block(struct arena *arena, size_t wanted)
{
    size_t size = wanted > BLOCK_BYTES ? wanted : BLOCK_BYTES;
    struct arena_block *block = size > ARENA_LIMIT - arena->total ? NULL : malloc(sizeof(*block) + size);
    arena->full |= !block;
    if (!block)
        return NULL;
    *block = (struct arena_block){.older = arena->blocks, .size = size};
    arena->blocks = block;
    arena->total += size;
    return block;
}

static void *take(size_t size)
{
    struct arena *arena = current;
    if (!arena)
        return malloc(size);
    arena->full |= size > ARENA_LIMIT;
    if (size > ARENA_LIMIT)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    void *taken = block->data + block->used;
    block->used += size;
    return taken;
}

static void give(void *taken)
{
    if (!current)
        free(taken);
}

static void hook(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = take, .free_fn = give});
}

void arena_enter(struct arena *arena)
{
    pthread_once(&hooked, hook);
    arena->full = false;
    current = arena;
}

void arena_leave(struct arena *arena)
{
    while (arena->blocks && arena->blocks->older) {
        struct arena_block *older = arena->blocks->older;
        arena->total -= arena->blocks->size;
        free(arena->blocks);
        arena->blocks = older;
    }
    if (arena->blocks)
        arena->blocks->used = 0;
    current = NULL;
}

void arena_release(struct arena *arena)
{
    arena_leave(arena);
    free(arena->blocks);
    *arena = (struct arena){0};
}
