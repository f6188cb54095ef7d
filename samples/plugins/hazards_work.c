/* Copies, sets, accesses that the program declares, and the launches that make them. */
#include "hazards.h"

#define INVALID_VALUE 1 /* CUDA_ERROR_INVALID_VALUE: what the driver says of memory that it does not know */

static struct shape shape_of(const struct gputrace_place *place, const struct gputrace_memcpy *copy)
{
    if (place->array)
        return shape_array_box(place->x, place->y, place->z, copy->width, copy->height, copy->depth);
    return shape_box(place->address, copy->width, copy->height, place->pitch, copy->depth, place->rows);
}

static void use_place(struct work *work, enum place_what what, const struct gputrace_place *place,
                      const struct gputrace_memcpy *copy)
{
    struct shape shape = shape_of(place, copy);
    work_use(work, what, &shape, place->address, copy->bytes, place->array);
}

static const struct region *region_at(const struct hazards *hazards, uint64_t address)
{
    return regions_at(&hazards->memory.live, address);
}

/* Copies between devices that take no stream come after all that was put anywhere. */
static bool is_serial(const struct hazards *hazards, const struct gputrace_memcpy *copy)
{
    if (copy->stream_given)
        return false;
    const struct region *target = region_at(hazards, copy->target.address);
    const struct region *source = region_at(hazards, copy->source.address);
    bool peer = copy->call.function && strstr(copy->call.function, "Peer");
    return peer || (target && source && target->device != source->device);
}

static bool may_be_host(char side)
{
    return side == 'H' || side == '?';
}

/* The function came back when the copy was over: it takes no stream, and one side is the host's; or it writes to host
 * memory that CUDA does not know, which it does not do behind the program's back. */
static bool is_waited_for(const struct hazards *hazards, const struct gputrace_memcpy *copy)
{
    if (!copy->stream_given)
        return may_be_host(copy->target_side) || may_be_host(copy->source_side);
    return may_be_host(copy->target_side) && !copy->target.array && !region_at(hazards, copy->target.address);
}

/* The call did nothing. If the memory had been freed, that is reported. */
static void try(struct hazards *hazards, const struct gputrace_call *call, struct CUstream_st *stream,
                const struct use *uses, unsigned count)
{
    struct work work;
    if (call->result != INVALID_VALUE)
        return;
    work_begin(&work, hazards, call, stream);
    for (unsigned i = 0; i < count; i++) {
        struct use use =
            work_use_of(&work, uses[i].place.what, &uses[i].shape, uses[i].place.address, uses[i].place.bytes);
        memory_tried(&hazards->memory, &use, &work.turn.findings);
    }
    work_end(&work);
}

static void copy_failed(struct hazards *hazards, const struct gputrace_memcpy *copy, struct CUstream_st *stream)
{
    const struct gputrace_place *places[] = {&copy->source, &copy->target};
    const char sides[] = {copy->source_side, copy->target_side};
    struct use uses[2];
    unsigned count = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (places[i]->array || sides[i] == 'H')
            continue;
        uses[count].shape = shape_of(places[i], copy);
        uses[count++].place = (struct place){
            .what = i ? PLACE_COPY_TO : PLACE_COPY_FROM, .address = places[i]->address, .bytes = copy->bytes};
    }
    try(hazards, &copy->call, stream, uses, count);
}

static struct CUstream_st *stream_of(struct CUstream_st *stream, uint32_t given, uint32_t per_thread)
{
    return !given && per_thread ? HAZARDS_PER_THREAD : stream;
}

static void on_memcpy(void *data, const struct gputrace_memcpy *what)
{
    struct hazards *hazards = data;
    struct CUstream_st *stream = stream_of(what->stream, what->stream_given, what->per_thread);
    struct work work;
    if (what->call.result != 0) {
        copy_failed(hazards, what, stream);
        return;
    }
    work_begin(&work, hazards, &what->call, stream);
    bool serial = is_serial(hazards, what);
    if (serial)
        order_host_may_know_device(&hazards->order, GPUTRACE_NO_DEVICE);
    work_put(&work);
    use_place(&work, PLACE_COPY_FROM, &what->source, what);
    use_place(&work, PLACE_COPY_TO, &what->target, what);
    if (work.runs && (serial || is_waited_for(hazards, what)))
        order_host_may_know(&hazards->order, work.number);
    work_end(&work);
}

static void on_memset(void *data, const struct gputrace_memset *what)
{
    struct hazards *hazards = data;
    struct CUstream_st *stream = stream_of(what->stream, what->stream_given, what->per_thread);
    struct shape shape = shape_box(what->address, what->width, what->height, what->pitch, 1, 0);
    struct work work;
    if (what->call.result != 0) {
        struct use use = {.shape = shape};
        use.place = (struct place){.what = PLACE_SET, .address = what->address, .bytes = what->bytes};
        try(hazards, &what->call, stream, &use, 1);
        return;
    }
    work_begin(&work, hazards, &what->call, stream);
    work_put(&work);
    work_use(&work, PLACE_SET, &shape, what->address, what->bytes, false);
    /* Without a stream it is waited for when the memory is not the device's alone. */
    const struct region *region = region_at(hazards, what->address);
    bool devices = region && (region->kind == GPUTRACE_MEMORY_DEVICE || region->kind == GPUTRACE_MEMORY_POOL ||
                              region->kind == GPUTRACE_MEMORY_VIRTUAL);
    if (work.runs && !what->stream_given && !devices)
        order_host_may_know(&hazards->order, work.number);
    work_end(&work);
}

/* --- declared accesses --- */

static bool declare(struct hazards *hazards, const struct use *use)
{
    if (hazards->declared_count == hazards->declared_capacity) {
        uint32_t capacity = hazards->declared_capacity ? 2 * hazards->declared_capacity : 16;
        struct use *declared = realloc(hazards->declared, capacity * sizeof(*declared));
        if (!declared)
            return false;
        hazards->declared = declared;
        hazards->declared_capacity = capacity;
    }
    hazards->declared[hazards->declared_count] = *use;
    __atomic_store_n(&hazards->declared_count, hazards->declared_count + 1, __ATOMIC_RELAXED);
    return true;
}

/* The access comes from no call of CUDA's: where no context is current, a default stream is that of the only one. */
static void on_access(void *data, const struct gputrace_memory_access *what)
{
    struct hazards *hazards = data;
    struct gputrace_call call = what->call;
    bool by_default = what->stream == NULL || what->stream == HAZARDS_LEGACY || what->stream == HAZARDS_PER_THREAD;
    struct shape shape = shape_run(what->address, what->bytes);
    struct work work;
    hazards_want_launches(hazards);
    work_begin(&work, hazards, &call, what->stream);
    if (by_default && !call.context && !hazards->order.contexts)
        call.context = hazards->order.context;
    if (what->bytes && (!by_default || call.context)) {
        bool writes = what->mode & GPUTRACE_ACCESS_WRITE;
        work.number = order_stream_of(&hazards->order, &call, what->stream);
        work.stream_id = hazards->order.streams[work.number].stream_id;
        struct use use =
            work_use_of(&work, writes ? PLACE_DECLARED_WRITE : PLACE_DECLARED_READ, &shape, what->address, what->bytes);
        hazards->memory.incomplete |= !declare(hazards, &use);
    }
    work_end(&work);
}

/* Kernels of these libraries meet those on other devices through memory. */
static bool is_barrier(const struct hazards *hazards, const char *name)
{
    if (!name)
        return false;
    return strstr(name, "nccl") || strstr(name, "nvshmem") || (hazards->barrier && strstr(name, hazards->barrier));
}

static void on_launch(void *data, const struct gputrace_kernel_launch *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    bool barrier = is_barrier(hazards, what->name);
    if (what->call.result != 0 || (!barrier && !__atomic_load_n(&hazards->declared_count, __ATOMIC_RELAXED)))
        return;
    turn_begin(&turn, hazards);
    uint32_t number = turn_stream(&turn, &what->call, what->stream);
    if (barrier && (hazards->several_devices || hazards->barrier))
        order_gate(&hazards->order, number);
    turn_end(&turn);
}

void hazards_want_launches(struct hazards *hazards)
{
    if (!__atomic_exchange_n(&hazards->launches, true, __ATOMIC_RELAXED))
        gputrace_kernel_launch_register(hazards->host, on_launch, hazards);
}

bool hazards_hear_work(struct hazards *hazards)
{
    return gputrace_memcpy_register(hazards->host, on_memcpy, hazards) &&
           gputrace_memset_register(hazards->host, on_memset, hazards) &&
           gputrace_memory_access_register(hazards->host, on_access, hazards);
}
