/* Memory that comes and goes. Functions that take no stream are taken to wait for the device: in practice they do. */
#include "hazards.h"

static bool in_stream(const struct gputrace_call *call, uint32_t stream_id)
{
    return stream_id != GPUTRACE_NO_STREAM || (call->function && strstr(call->function, "Async"));
}

static void allocate_in_stream(struct hazards *hazards, const struct gputrace_memory_allocation *what)
{
    struct shape shape = shape_run(what->address, what->bytes);
    struct work work;
    work_begin(&work, hazards, &what->call, what->stream);
    work_put(&work);
    struct use use = work_use_of(&work, PLACE_ALLOCATION, &shape, what->address, what->bytes);
    memory_allocated(&hazards->memory, what, work.judged ? &use : NULL);
    struct region *region = regions_at(&hazards->memory.live, what->address);
    if (!work.runs && region) /* a graph will allocate it */
        memory_freed(&hazards->memory, region, &use, false);
    work_end(&work);
}

static void on_allocation(void *data, const struct gputrace_memory_allocation *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    if (what->kind == GPUTRACE_MEMORY_POOL) {
        allocate_in_stream(hazards, what);
        return;
    }
    turn_begin(&turn, hazards);
    turn_commit(&turn, ORDER_STREAMS_MAX);
    if (what->kind != GPUTRACE_MEMORY_VIRTUAL)
        order_host_may_know_device(&hazards->order, what->call.device);
    memory_allocated(&hazards->memory, what, NULL);
    turn_end(&turn);
}

static void free_in_stream(struct work *work, struct region *region)
{
    struct hazards *hazards = work->turn.hazards;
    struct shape shape = shape_run(region->address, region->bytes);
    struct use use = work_use_of(work, PLACE_FREE, &shape, region->address, region->bytes);
    if (work->judged)
        memory_use(&hazards->memory, &hazards->order, &use, false, &work->turn.findings);
    memory_freed(&hazards->memory, region, &use, work->judged);
}

static void free_by_host(struct work *work, struct region *region)
{
    struct shape shape = shape_run(region->address, region->bytes);
    struct use use = work_use_of(work, PLACE_FREE, &shape, region->address, region->bytes);
    if (region->device != work->call->device) /* the memory is another device's */
        order_host_may_know_device(&work->turn.hazards->order, region->device);
    memory_freed(&work->turn.hazards->memory, region, &use, true);
}

static void on_deallocation(void *data, const struct gputrace_memory_deallocation *what)
{
    struct hazards *hazards = data;
    struct work work;
    if (what->call.result != 0 || what->kind == GPUTRACE_MEMORY_VIRTUAL)
        return;
    bool ordered = in_stream(&what->call, what->stream_id);
    work_begin(&work, hazards, &what->call, what->stream);
    if (ordered) {
        work_put(&work);
    } else {
        turn_commit(&work.turn, ORDER_STREAMS_MAX);
        order_host_may_know_device(&hazards->order, what->call.device);
    }
    struct region *region = memory_freeable(&hazards->memory, what);
    if (region && ordered)
        free_in_stream(&work, region);
    else if (region)
        free_by_host(&work, region);
    work_end(&work);
}

static void on_mapping(void *data, const struct gputrace_memory_mapping *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    memory_mapped(&hazards->memory, what);
    turn_end(&turn);
}

static void on_unmapping(void *data, const struct gputrace_memory_unmapping *what)
{
    struct hazards *hazards = data;
    struct shape shape = shape_run(what->address, what->bytes);
    struct work work;
    if (what->call.result != 0)
        return;
    work_begin(&work, hazards, &what->call, NULL);
    turn_commit(&work.turn, ORDER_STREAMS_MAX);
    order_host_may_know_device(&hazards->order, GPUTRACE_NO_DEVICE);
    struct use use = work_use_of(&work, PLACE_FREE, &shape, what->address, what->bytes);
    memory_unmapped(&hazards->memory, what, &use);
    work_end(&work);
}

bool hazards_hear_memory(struct hazards *hazards)
{
    return gputrace_memory_allocation_register(hazards->host, on_allocation, hazards) &&
           gputrace_memory_deallocation_register(hazards->host, on_deallocation, hazards) &&
           gputrace_memory_mapping_register(hazards->host, on_mapping, hazards) &&
           gputrace_memory_unmapping_register(hazards->host, on_unmapping, hazards);
}
