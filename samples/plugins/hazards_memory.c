#include "hazards.h"

#include <stdlib.h>

#define SWEEP_FIRST 65536 /* uses remembered, at which all are looked through for those that are over */

/* --- regions come --- */

static void region_free(struct memory *memory, struct region *region)
{
    memory->uses -= region->use_count;
    free(region->uses);
    free(region);
}

static void forget_freed(struct memory *memory, struct region *region)
{
    *(region->older ? &region->older->newer : &memory->oldest) = region->newer;
    *(region->newer ? &region->newer->older : &memory->newest) = region->older;
    regions_remove(&memory->freed, region);
    region_free(memory, region);
}

/* Nothing is known of these addresses any more. */
static void clear(struct memory *memory, struct regions *live, uint64_t address, uint64_t end)
{
    struct region *region;
    while ((region = regions_from(live, address)) && region->address < end) {
        regions_remove(live, region);
        region_free(memory, region);
    }
    while (live == &memory->live && (region = regions_from(&memory->freed, address)) && region->address < end)
        forget_freed(memory, region);
}

static struct region *region_make(struct memory *memory, struct regions *tree, const struct gputrace_call *call,
                                  uint64_t address, uint64_t bytes)
{
    clear(memory, tree, address, address + bytes);
    struct region *region = address && bytes ? calloc(1, sizeof(*region)) : NULL;
    if (!region) {
        memory->incomplete |= address && bytes;
        return NULL;
    }
    region->address = address;
    region->bytes = bytes;
    region->allocated = call->end;
    region->context = call->context;
    region->device = call->device;
    regions_add(tree, region);
    return region;
}

static void remember(struct memory *memory, const struct order *order, struct region *region, const struct use *use);

void memory_allocated(struct memory *memory, const struct gputrace_memory_allocation *what, const struct use *use)
{
    if (what->kind == GPUTRACE_MEMORY_VIRTUAL)
        return; /* its address is a handle: it has none before it is mapped */
    bool array = what->kind == GPUTRACE_MEMORY_ARRAY;
    struct region *region = region_make(memory, array ? &memory->arrays : &memory->live, &what->call, what->address,
                                        array ? 1 : what->bytes);
    if (!region)
        return;
    region->kind = what->kind;
    if (use)
        remember(memory, NULL, region, use);
}

void memory_mapped(struct memory *memory, const struct gputrace_memory_mapping *what)
{
    struct region *region = region_make(memory, &memory->live, &what->call, what->address, what->bytes);
    if (region)
        region->kind = GPUTRACE_MEMORY_VIRTUAL;
}

/* --- … and go --- */

struct region *memory_freeable(const struct memory *memory, const struct gputrace_memory_deallocation *what)
{
    const struct regions *tree = what->kind == GPUTRACE_MEMORY_ARRAY ? &memory->arrays : &memory->live;
    struct region *region = what->kind == GPUTRACE_MEMORY_VIRTUAL ? NULL : regions_at(tree, what->address);
    /* Another thread may have been given the address again before this plugin learns that this one has freed it. */
    bool newer = region && what->call.start < region->allocated;
    return region && region->address == what->address && !newer ? region : NULL;
}

void memory_freed(struct memory *memory, struct region *region, const struct use *use, bool remember_it)
{
    /* Addresses of the host's may come from malloc() the next time. */
    bool cudas = region->kind == GPUTRACE_MEMORY_DEVICE || region->kind == GPUTRACE_MEMORY_POOL ||
                 region->kind == GPUTRACE_MEMORY_VIRTUAL;
    regions_remove(region->kind == GPUTRACE_MEMORY_ARRAY ? &memory->arrays : &memory->live, region);
    if (!cudas || !remember_it) {
        region_free(memory, region);
        return;
    }
    memory->uses -= region->use_count;
    free(region->uses);
    region->uses = NULL;
    region->use_count = region->use_capacity = 0;
    region->freed = *use;
    region->older = memory->newest;
    region->newer = NULL;
    *(memory->newest ? &memory->newest->newer : &memory->oldest) = region;
    memory->newest = region;
    regions_add(&memory->freed, region);
    if (memory->freed.count > MEMORY_FREED_MAX)
        forget_freed(memory, memory->oldest);
}

void memory_unmapped(struct memory *memory, const struct gputrace_memory_unmapping *what, const struct use *use)
{
    struct region *region;
    uint64_t end = what->address + what->bytes;
    while ((region = regions_from(&memory->live, what->address)) && region->address < end)
        memory_freed(memory, region, use, true);
}

static void free_all(struct memory *memory, struct regions *tree, const struct gputrace_call *call)
{
    for (uint64_t at = 0;;) {
        struct region *region = regions_from(tree, at);
        if (!region)
            break;
        at = region_end(region);
        if (call && region->context != call->context)
            continue;
        regions_remove(tree, region);
        region_free(memory, region);
    }
}

void memory_context_deleted(struct memory *memory, const struct gputrace_call *call)
{
    free_all(memory, &memory->live, call);
    free_all(memory, &memory->arrays, call);
    free_all(memory, &memory->freed, NULL);
    memory->newest = memory->oldest = NULL;
}

void memory_release(struct memory *memory)
{
    free_all(memory, &memory->live, NULL);
    free_all(memory, &memory->arrays, NULL);
    free_all(memory, &memory->freed, NULL);
    *memory = (struct memory){0};
}

/* --- uses --- */

static void drop_done(struct memory *memory, const struct order *order, struct region *region)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < region->use_count; i++) {
        if (order_is_done(order, region->uses[i].stream, region->uses[i].time))
            continue;
        if (kept != i)
            region->uses[kept] = region->uses[i];
        kept++;
    }
    memory->uses -= region->use_count - kept;
    region->use_count = kept;
}

static void sweep(struct memory *memory, const struct order *order, struct regions *tree)
{
    struct region *region = regions_from(tree, 0);
    for (; region; region = regions_from(tree, region_end(region))) {
        drop_done(memory, order, region);
        if (region->use_count > 0)
            continue;
        free(region->uses);
        region->uses = NULL;
        region->use_capacity = 0;
    }
}

/* Later things to the same bytes by the same stream stand for the earlier: who waits for the later waits for both. */
static bool replaces(const struct use *later, const struct use *earlier)
{
    return later->stream == earlier->stream && (later->writes || !earlier->writes) &&
           shape_covers(&later->shape, &earlier->shape);
}

static bool make_space(struct region *region)
{
    uint32_t capacity = region->use_capacity ? 2 * region->use_capacity : 4;
    struct use *uses = realloc(region->uses, capacity * sizeof(*uses));
    if (!uses)
        return false;
    region->uses = uses;
    region->use_capacity = capacity;
    return true;
}

/* ORDER NULL: nothing is looked through. */
static void remember(struct memory *memory, const struct order *order, struct region *region, const struct use *use)
{
    if (order)
        drop_done(memory, order, region);
    for (uint32_t i = 0; i < region->use_count; i++)
        if (replaces(use, &region->uses[i])) {
            region->uses[i] = *use;
            return;
        }
    if (region->use_count == MEMORY_USES_MAX) { /* the oldest, while none of them was done */
        memory->forgotten++;
        region->uses[region->overwritten++ % MEMORY_USES_MAX] = *use;
        return;
    }
    if (region->use_count == region->use_capacity && !make_space(region)) {
        memory->incomplete = true;
        return;
    }
    region->uses[region->use_count++] = *use;
    memory->uses++;
}

static struct finding *find(struct findings *findings, enum finding_kind kind, const struct use *first,
                            const struct use *second)
{
    static struct finding left_out;
    struct finding *finding = findings->count < FINDINGS_MAX ? &findings->of[findings->count++] : &left_out;
    *finding = (struct finding){
        .kind = kind, .first = first->place, .second = second->place, .stream = first->stream, .time = first->time};
    return finding;
}

static void compare(const struct order *order, const struct region *region, const struct use *use,
                    struct findings *findings)
{
    for (uint32_t i = 0; i < region->use_count; i++) {
        const struct use *earlier = &region->uses[i];
        if ((!use->writes && !earlier->writes) || order_is_before(order, earlier->stream, earlier->time, use->stream))
            continue;
        if (shapes_compare(&earlier->shape, &use->shape) == SHAPES_OVERLAP)
            find(findings, earlier->place.what == PLACE_ALLOCATION ? FINDING_NOT_ALLOCATED : FINDING_RACE, earlier,
                 use);
    }
}

/* Memory that was freed and not allocated since. ORDER NULL: the use did not happen. */
static void compare_freed(const struct memory *memory, const struct order *order, const struct use *use,
                          struct findings *findings)
{
    uint64_t end = shape_end(&use->shape);
    const struct region *region = regions_from(&memory->freed, use->shape.start);
    for (; region && region->address < end; region = regions_from(&memory->freed, region_end(region))) {
        const struct use *freed = &region->freed;
        struct shape whole = shape_run(region->address, region->bytes);
        if (shapes_compare(&whole, &use->shape) != SHAPES_OVERLAP)
            continue;
        bool by_host = freed->stream == ORDER_STREAMS_MAX;
        bool ordered = by_host || !order || order_is_before(order, freed->stream, freed->time, use->stream);
        bool held = order && !by_host && !order_is_done(order, freed->stream, freed->time);
        struct finding *finding = find(findings, ordered ? FINDING_FREED : FINDING_FREED_RACE, freed, use);
        finding->ask = !held;
        finding->refused = !order;
        finding->probe = use->shape.start > region->address ? use->shape.start : region->address;
    }
}

void memory_use(struct memory *memory, const struct order *order, const struct use *use, bool array,
                struct findings *findings)
{
    const struct regions *tree = array ? &memory->arrays : &memory->live;
    uint64_t start = array ? use->place.address : use->shape.start;
    uint64_t end = array ? start + 1 : shape_end(&use->shape);
    bool known = false;
    struct region *region = regions_from(tree, start);
    for (; region && region->address < end; region = regions_from(tree, region_end(region))) {
        compare(order, region, use, findings);
        remember(memory, order, region, use);
        known = true;
    }
    if (!known && !array)
        compare_freed(memory, order, use, findings);
    if (memory->uses <= (memory->sweep_at ? memory->sweep_at : SWEEP_FIRST))
        return;
    sweep(memory, order, &memory->live);
    sweep(memory, order, &memory->arrays);
    memory->sweep_at = memory->uses < SWEEP_FIRST / 2 ? SWEEP_FIRST : 2 * memory->uses;
}

void memory_tried(struct memory *memory, const struct use *use, struct findings *findings)
{
    struct region *live = regions_from(&memory->live, use->shape.start);
    if (!live || live->address >= shape_end(&use->shape))
        compare_freed(memory, NULL, use, findings);
}

/*
 * Findings that wait a little before they are reported.
 *
 * A function of the host, a written value or a graph may tell another thread that work is done before this plugin is
 * informed of the call that put it there: the thread that called is still on its way back. What the other thread does
 * then looks unordered for a moment. So in a program of several threads a finding is held for a while, and dropped when
 * a call comes to light that had begun before the second of its places and may have ordered it.
 */

uint64_t hazards_hold = 50000000;

static bool explains(const struct hazards *hazards, const struct gputrace_call *call, uint32_t number,
                     const struct finding *finding)
{
    return finding->stream != ORDER_STREAMS_MAX && call->start < finding->second.time &&
           order_is_before(&hazards->order, finding->stream, finding->time, number);
}

void hazards_release(struct hazards *hazards, const struct gputrace_call *call, uint32_t number)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < hazards->held_count; i++)
        if (!explains(hazards, call, number, &hazards->held[i]))
            hazards->held[kept++] = hazards->held[i];
    hazards->held_count = kept;
}

static void tell_first(struct hazards *hazards)
{
    reports_add(&hazards->reports, hazards->host, &hazards->held[0]);
    memmove(hazards->held, hazards->held + 1, --hazards->held_count * sizeof(*hazards->held));
}

void hazards_tell_held(struct hazards *hazards, bool all)
{
    uint64_t now = hazards->held_count && !all ? gputrace_now(hazards->host) : 0;
    while (hazards->held_count && (all || now - hazards->held[0].second.time > hazards_hold))
        tell_first(hazards);
}

void hazards_tell(struct hazards *hazards, const struct finding *finding)
{
    if (!hazards->several_threads || hazards_hold == 0 || finding->kind == FINDING_VOID) {
        reports_add(&hazards->reports, hazards->host, finding);
        return;
    }
    if (hazards->held_count == HAZARDS_HELD_MAX)
        tell_first(hazards);
    hazards->held[hazards->held_count++] = *finding;
}
