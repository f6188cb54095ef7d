#include "leaks.h"

/* Addresses, arrays, handles of physical memory and registered host memory are numbers of their own: upper bits, which
 * no address has, tell them apart. */
static uint64_t key_of(uint64_t address, uint32_t kind)
{
    uint64_t sort = kind == GPUTRACE_MEMORY_ARRAY        ? 1
                    : kind == GPUTRACE_MEMORY_VIRTUAL    ? 2
                    : kind == GPUTRACE_MEMORY_REGISTERED ? 3
                                                         : 0;
    return address ^ sort << 60;
}

static struct allocation *find(const struct live *live, uint64_t key)
{
    const uint64_t *place = address_map_find(&live->of, key);
    return place ? &live->list[*place - 1] : NULL;
}

/* Space for one more: its place plus one; 0: no memory. */
static uint32_t make_space(struct live *live)
{
    if (live->free) {
        uint32_t place = live->free;
        live->free = live->list[place - 1].next;
        return place;
    }
    if (live->count == live->capacity) {
        uint32_t more = live->capacity ? 2 * live->capacity : 256;
        struct allocation *list = more > live->capacity ? realloc(live->list, more * sizeof(*list)) : NULL;
        if (!list)
            return 0;
        live->list = list;
        live->capacity = more;
    }
    return ++live->count;
}

static void discard(struct live *live, struct allocation *allocation)
{
    *allocation = (struct allocation){.next = live->free};
    live->free = (uint32_t)(allocation - live->list) + 1;
}

void live_add(struct live *live, const struct gputrace_memory_allocation *what, uint32_t stack)
{
    uint64_t key = key_of(what->address, what->kind);
    struct allocation *before = find(live, key);
    live->allocations++;
    if (before) { /* freed by another thread, which has not been reported yet */
        address_map_remove(&live->of, key);
        before->released = true;
        if (before->mappings == 0)
            discard(live, before);
        live->late_frees++;
    }
    uint32_t place = what->bytes && what->address ? make_space(live) : 0;
    if (!place || !address_map_put(&live->of, key, place)) {
        live->incomplete = true;
        return;
    }
    live->list[place - 1] = (struct allocation){
        .address = what->address,
        .bytes = what->bytes,
        .time = what->call.start,
        .end = what->call.end,
        .context = what->call.context,
        .kind = what->kind,
        .device = what->call.device,
        .stream_id = what->stream_id,
        .thread = what->call.thread,
        .stack = stack,
    };
}

void live_remove(struct live *live, const struct gputrace_memory_deallocation *what)
{
    uint64_t key = key_of(what->address, what->kind);
    struct allocation *allocation = find(live, key);
    /* One that came after this call began is not what it has freed: that was given up when the other came, which may
     * be freed again by now. */
    if (!allocation || what->call.start < allocation->end) {
        if (live->late_frees)
            live->late_frees--;
        else
            live->unknown_frees++;
        return;
    }
    address_map_remove(&live->of, key);
    allocation->released = true;
    if (allocation->mappings == 0)
        discard(live, allocation);
}

/* --- physical memory, mapped --- */

void live_map(struct live *live, const struct gputrace_memory_mapping *what)
{
    const struct allocation *allocation = find(live, key_of(what->handle, GPUTRACE_MEMORY_VIRTUAL));
    if (!allocation || !what->address)
        return;
    uint32_t place = (uint32_t)(allocation - live->list) + 1;
    if (!address_map_put(&live->mapped, what->address, place) ||
        !address_map_put(&live->extents, what->address, what->bytes)) {
        live->incomplete = true;
        return;
    }
    live->list[place - 1].mappings++;
}

/* A range that is unmapped is one or several that were mapped, whole. */
void live_unmap(struct live *live, const struct gputrace_memory_unmapping *what)
{
    uint64_t end = what->address + what->bytes;
    for (uint64_t at = what->address; at < end;) {
        const uint64_t *place = address_map_find(&live->mapped, at), *bytes = address_map_find(&live->extents, at);
        if (!place || !bytes || !*bytes)
            return;
        uint64_t extent = *bytes;
        struct allocation *allocation = &live->list[*place - 1];
        address_map_remove(&live->mapped, at);
        address_map_remove(&live->extents, at);
        if (--allocation->mappings == 0 && allocation->released)
            discard(live, allocation);
        at += extent;
    }
}

/* --- contexts --- */

static bool goes_with_context(const struct allocation *allocation, const struct CUctx_st *context)
{
    return allocation->bytes && allocation->context == context && allocation->kind != GPUTRACE_MEMORY_POOL &&
           allocation->kind != GPUTRACE_MEMORY_VIRTUAL;
}

struct gone live_context_deleted(struct live *live, const struct CUctx_st *context)
{
    struct gone gone = {0};
    for (uint32_t i = 0; context && i < live->count; i++) {
        struct allocation *allocation = &live->list[i];
        if (!goes_with_context(allocation, context))
            continue;
        gone.count++;
        gone.bytes += allocation->bytes;
        address_map_remove(&live->of, key_of(allocation->address, allocation->kind));
        discard(live, allocation);
    }
    return gone;
}

void live_release(struct live *live)
{
    free(live->list);
    address_map_release(&live->of);
    address_map_release(&live->mapped);
    address_map_release(&live->extents);
    *live = (struct live){0};
}
