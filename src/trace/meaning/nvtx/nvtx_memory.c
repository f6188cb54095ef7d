/*
 * Memory that the program annotates through NVTX: applies the steps in the order of time, and writes counters of heaps
 * and an instant for each call.
 */
#include "trace/meaning/nvtx/nvtx_memory.h"

#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_describe.h"

int nvtx_heaps_index(struct nvtx_heaps *heaps, const struct event *event)
{
    const struct spool_nvtx_memory *record = event->record;
    if (record->head.flags == SPOOL_NVTX_MEMORY_NONE || record->head.flags >= SPOOL_NVTX_MEMORY_OPERATION_COUNT)
        return 0;
    struct nvtx_heap_step step = {
        .record = record, .time = record->head.time, .thread = event->thread, .order = (uint32_t)heaps->steps.count};
    return ADD(file_vector_push, &heaps->steps, step) ? 0 : error_no_memory("NVTX heaps");
}

ORDER_BY(by_time, struct nvtx_heap_step, time, order)

static void note_change(struct nvtx_heaps *heaps, uint32_t heap)
{
    for (unsigned i = 0; i < heaps->changed_count; i++)
        if (heaps->changed[i] == heap)
            return;
    if (heaps->changed_count < sizeof(heaps->changed) / sizeof(*heaps->changed))
        heaps->changed[heaps->changed_count++] = heap;
}

static void set_size(struct nvtx_heaps *heaps, struct nvtx_region *region, uint64_t size)
{
    struct nvtx_heap *heap = &heaps->items.items[region->heap];
    note_change(heaps, region->heap);
    heap->regions = heap->regions - (region->live ? region->size : 0) + size;
    region->size = size;
}

static void drop(struct nvtx_heaps *heaps, struct nvtx_region *region)
{
    if (!region->live)
        return;
    set_size(heaps, region, 0);
    region->live = false;
}

/* Returns the heap, creating it if it is new: a heap registered before recording began has no record. Returns NULL
 * after error(). */
static struct nvtx_heap *heap_of(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record)
{
    struct nvtx_heap *heap = PUT_ITEM(&heaps->items, &heaps->heap_of, payload_key(record->domain, record->heap));
    if (!heap) {
        error_no_memory("NVTX heaps");
        return NULL;
    }
    heap->handle = record->heap;
    heap->domain = record->domain;
    return heap;
}

static uint64_t region_handle(const struct spool_nvtx_memory *record)
{
    return record->region ? record->region : record->address;
}

static int register_region(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, uint64_t key)
{
    struct nvtx_region *region = PUT_ITEM(&heaps->regions, &heaps->region_of, key);
    struct nvtx_heap *heap = heap_of(heaps, record);
    uint32_t *member = heap ? array_push(&heap->members) : NULL;
    if (!region || !member)
        return error_no_memory("NVTX heaps");
    heaps->registered++;
    *member = (uint32_t)(region - heaps->regions.items);
    drop(heaps, region);
    region->handle = region_handle(record);
    region->heap = (uint32_t)(heap - heaps->items.items);
    region->name = (struct nvtx_text){NULL, 0};
    set_size(heaps, region, record->size);
    region->live = true;
    return 0;
}

/* Applies a step of a heap: all its regions are gone after it. Returns the heap, or NULL after error(). */
static struct nvtx_heap *change_heap(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record)
{
    struct nvtx_heap *heap = heap_of(heaps, record);
    if (!heap)
        return NULL;
    for (size_t i = 0; i < heap->members.count; i++) {
        struct nvtx_region *region = &heaps->regions.items[heap->members.items[i]];
        if (region->heap == (uint32_t)(heap - heaps->items.items))
            drop(heaps, region);
    }
    heap->members.count = 0; /* the address may have been another heap's before */
    if (record->head.flags == SPOOL_NVTX_MEMORY_HEAP_REGISTER) {
        heap->name = nvtx_text_of(record->text, record->length);
        heap->size = record->size;
    } else if (record->head.flags == SPOOL_NVTX_MEMORY_HEAP_UNREGISTER) {
        heap->size = 0;
    }
    note_change(heaps, (uint32_t)(heap - heaps->items.items));
    return heap;
}

static int change_region(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, uint64_t key)
{
    struct nvtx_region *region = FIND_ITEM(&heaps->regions, &heaps->region_of, key);
    uint16_t operation = record->head.flags;
    if (operation == SPOOL_NVTX_MEMORY_REGION_REGISTER)
        return register_region(heaps, record, key);
    if (!region || !region->live)
        return 0;
    if (operation == SPOOL_NVTX_MEMORY_REGION_RESIZE)
        set_size(heaps, region, record->size);
    else if (operation == SPOOL_NVTX_MEMORY_REGION_UNREGISTER)
        drop(heaps, region);
    else if (operation == SPOOL_NVTX_MEMORY_REGION_NAME)
        region->name = nvtx_text_of(record->text, record->length);
    return 0;
}

/* Moves the live regions together, and enters them into their heaps anew. */
static int forget_gone(struct nvtx_heaps *heaps)
{
    size_t kept = 0;
    map_release(&heaps->region_of);
    for (size_t i = 0; i < heaps->items.count; i++)
        heaps->items.items[i].members.count = 0;
    for (size_t i = 0; i < heaps->regions.count; i++) {
        struct nvtx_region region = heaps->regions.items[i];
        struct nvtx_heap *heap = &heaps->items.items[region.heap];
        if (!region.live)
            continue;
        uint64_t *index = map_put(&heaps->region_of, payload_key(heap->domain, region.handle), NULL);
        uint32_t *member = index ? array_push(&heap->members) : NULL;
        if (!member)
            return error_no_memory("NVTX heaps");
        heaps->regions.items[kept] = region;
        *member = (uint32_t)kept;
        *index = ++kept;
    }
    heaps->regions.count = heaps->lived = kept;
    heaps->registered = 0;
    return 0;
}

int nvtx_heaps_apply(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, const struct nvtx_heap **heap,
                     const struct nvtx_region **region)
{
    uint16_t operation = record->head.flags;
    uint64_t key = payload_key(record->domain, region_handle(record));
    *heap = NULL;
    *region = NULL;
    heaps->changed_count = 0;
    if (heaps->registered > heaps->lived + NVTX_HEAPS_GONE && forget_gone(heaps) != 0)
        return -1;
    if (operation >= SPOOL_NVTX_MEMORY_HEAP_REGISTER && operation <= SPOOL_NVTX_MEMORY_HEAP_RESET)
        return (*heap = change_heap(heaps, record)) ? 0 : -1;
    if ((operation < SPOOL_NVTX_MEMORY_REGION_REGISTER || operation > SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN) &&
        operation != SPOOL_NVTX_MEMORY_INITIALIZED)
        return 0;
    if (change_region(heaps, record, key) != 0)
        return -1;
    *region = FIND_ITEM(&heaps->regions, &heaps->region_of, key);
    *heap = *region ? &heaps->items.items[(*region)->heap] : NULL;
    return 0;
}

/* --- counters --- */

/* Writes the counter "NVTX heap NAME", or with the heap's handle if it has no name. */
static void write_heap(struct piece_writer *out, const struct process *process, const struct nvtx_heap *heap,
                       uint64_t time)
{
    static const char size[] = "size", regions[] = "regions";
    const struct counter_value values[] = {
        {.name = regions, .length = sizeof(regions) - 1, .kind = COUNTER_UNSIGNED, .u64 = heap->regions},
        {.name = size, .length = sizeof(size) - 1, .kind = COUNTER_UNSIGNED, .u64 = heap->size},
    };
    struct buffer name;
    buffer_init_memory(&name);
    buffer_text(&name, "NVTX heap ");
    if (heap->name.text)
        buffer_bytes(&name, heap->name.text, heap->name.length);
    else if (heap->handle == 0)
        buffer_text(&name, "of the process");
    else
        buffer_format(&name, "0x%llx", (unsigned long long)heap->handle);
    struct counter counter = {.name = name_passing(name.data, name.length),
                              .pid = process->pid,
                              .time = time,
                              .values = values,
                              .value_count = heap->handle == 0 ? 1 : 2}; /* the process as a heap has no size */
    out->sink.format->counter(&out->sink, &counter);
    buffer_release(&name);
}

/* --- instants --- */

/* Writes the names of the bits that are set: "read | write". arg->context lists the names, NULL last. */
static void put_bits(struct buffer *buffer, const struct arg_json *arg)
{
    const char *const *names = arg->context;
    bool any = false;
    buffer_char(buffer, '"');
    for (unsigned i = 0; names[i]; i++) {
        if (!(arg->number >> i & 1))
            continue;
        buffer_format(buffer, "%s%s", any ? " | " : "", names[i]);
        any = true;
    }
    buffer_text(buffer, any ? "\"" : "none\"");
}

static void put_extent(struct buffer *buffer, const struct arg_json *arg)
{
    const uint64_t *size = arg->context;
    buffer_format(buffer, "[%llu,%llu,%llu]", (unsigned long long)size[0], (unsigned long long)size[1],
                  (unsigned long long)size[2]);
}

static void args_json(struct args *args, enum arg_key key, void (*put)(struct buffer *, const struct arg_json *),
                      uint64_t number, const void *context)
{
    args_add(args, key, ARG_TYPE_JSON)->json = (struct arg_json){.put = put, .number = number, .context = context};
}

/* Adds the name that NAMES has for NUMBER, or the number itself if it has none. */
static void args_named(struct args *args, enum arg_key key, uint32_t number, const char *const *names, size_t count)
{
    if (number < count && names[number])
        args_words(args, key, names[number]);
    else if (number != 0)
        args_u64(args, key, number);
}

static void describe_permissions(struct args *args, const struct spool_nvtx_memory *record)
{
    static const char *const access[] = {"read", "write", "atomic", "reset", NULL};
    static const char *const strictness[] = {"strict read", "strict write", "strict atomic", NULL};
    static const char *const exclusion[] = {"exclude global read", "exclude global write", "exclude global atomic",
                                            NULL};
    uint16_t operation = record->head.flags;
    if (operation < SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN || operation > SPOOL_NVTX_MEMORY_PEER_ACCESS)
        return;
    if (record->permissions == 0 && operation != SPOOL_NVTX_MEMORY_PERMISSIONS_UNBIND)
        args_words(args, ARG_PERMISSIONS, "process");
    else if (record->permissions != 0)
        args_add(args, ARG_PERMISSIONS, ARG_TYPE_HEX)->u64 = record->permissions;
    if (operation == SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN || operation == SPOOL_NVTX_MEMORY_PEER_ACCESS)
        args_json(args, ARG_ACCESS, put_bits, record->flags, access);
    else if (operation == SPOOL_NVTX_MEMORY_PERMISSIONS_BIND)
        args_json(args, ARG_FLAGS, put_bits, record->flags, strictness);
    else if (operation == SPOOL_NVTX_MEMORY_PERMISSIONS_CREATE)
        args_json(args, ARG_FLAGS, put_bits, record->flags, exclusion);
    if (record->bind_scope)
        args_words(args, ARG_SCOPE, record->bind_scope == 1 ? "CPU thread" : "CUDA stream");
    if (operation == SPOOL_NVTX_MEMORY_PEER_ACCESS && record->device < 0)
        args_words(args, ARG_DEVICE, "all");
    else if (record->device >= 0)
        args_u64(args, ARG_DEVICE, (uint64_t)record->device);
}

static void write_call(struct piece_writer *out, struct process *process, const struct nvtx_heap_step *step,
                       const struct nvtx_heap *heap, const struct nvtx_region *region)
{
    const struct spool_nvtx_memory *record = step->record;
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, step->thread);
    static const char *const types[] = {
        [0x1] = "virtual address", [0x11] = "CUDA array", [0x12] = "CUDA driver array"}; /* NVTX_MEM_TYPE_… */
    static const char *const usages[] = {[1] = "sub-allocator", [2] = "layout"}; /* NVTX_MEM_HEAP_USAGE_TYPE_… */
    static const char *const names[SPOOL_NVTX_MEMORY_OPERATION_COUNT] = {
#define OPERATION(name, text) [SPOOL_NVTX_MEMORY_##name] = text,
        SPOOL_NVTX_MEMORY_OPERATIONS(OPERATION)
#undef OPERATION
    };
    struct args args = {0};
    if (!thread)
        return;
    describe_nvtx_domain(&args, process->nvtx, record->domain);
    if (record->category)
        describe_nvtx_category(&args, process->nvtx, record->domain, record->category, true);
    args_named(&args, ARG_KIND, record->type, types, sizeof(types) / sizeof(*types));
    args_named(&args, ARG_USAGE, record->usage, usages, sizeof(usages) / sizeof(*usages));
    uint64_t address = record->address ? record->address : record->region;
    bool is_array = record->type == 0x11 || record->type == 0x12;
    if (heap && heap->name.text)
        args_text(&args, ARG_HEAP, heap->name.text, heap->name.length);
    else if (record->heap)
        args_add(&args, ARG_HEAP, ARG_TYPE_HEX)->u64 = record->heap;
    if (region && region->name.text)
        args_text(&args, ARG_NAME, region->name.text, region->name.length);
    if (address)
        args_add(&args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = address;
    if (record->size)
        args_u64(&args, ARG_BYTES, record->size);
    if (is_array && record->extent[0]) {
        args_json(&args, ARG_OFFSET, put_extent, 0, record->offset);
        args_json(&args, ARG_EXTENT, put_extent, 0, record->extent);
    }
    /* The stream by its number, as GPU operations show it, or else by its handle. */
    uint64_t handle = record->stream;
    const uint64_t *stream = map_get(&process->stream_of_handle, handle);
    if (stream && *stream)
        args_u64(&args, ARG_STREAM, *stream - 1);
    else if (handle)
        args_add(&args, ARG_STREAM, ARG_TYPE_HEX)->u64 = handle;
    describe_permissions(&args, record);
    piece_writer_instant(out, CATEGORY_NVTX_MEMORY, name_plain(names[record->head.flags]), thread, step->time, &args);
}

int write_nvtx_memory(struct piece_writer *out, struct process *process)
{
    struct nvtx_heaps *heaps = &process->nvtx->heaps;
    if (file_vector_sort(&heaps->steps, by_time) != 0)
        return error_no_memory("NVTX heaps");
    for (size_t i = 0; i < heaps->steps.count; i++) {
        const struct nvtx_heap_step *step = &heaps->steps.items[i];
        const struct nvtx_heap *heap;
        const struct nvtx_region *region;
        piece_writer_passed(out, process);
        if (nvtx_heaps_apply(heaps, step->record, &heap, &region) != 0)
            return -1;
        if (!capture_intervals_hold(process->capture_intervals, step->time))
            continue;
        write_call(out, process, step, heap, region);
        for (unsigned k = 0; k < heaps->changed_count; k++)
            write_heap(out, process, &heaps->items.items[heaps->changed[k]], step->time);
    }
    return 0;
}
