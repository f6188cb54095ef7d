#include "trace/build/nvtx_memory.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/buffer.h"
#include "trace/build/nvtx.h"
#include "trace/build/piece_writer.h"

void nvtx_heaps_release(struct nvtx_heaps *heaps)
{
    for (size_t i = 0; i < heaps->items.count; i++)
        array_release(&heaps->items.items[i].members);
    file_vector_release(&heaps->steps);
    array_release(&heaps->items);
    array_release(&heaps->regions);
    map_release(&heaps->heap_of);
    map_release(&heaps->region_of);
}

int nvtx_heaps_index(struct nvtx_heaps *heaps, const struct event *event)
{
    const struct spool_nvtx_memory *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_MEMORY || record->head.flags == SPOOL_NVTX_MEMORY_NONE ||
        record->head.flags >= SPOOL_NVTX_MEMORY_OPERATION_COUNT)
        return 0;
    struct nvtx_heap_step *step = file_vector_push(&heaps->steps);
    if (!step)
        return error_no_memory("NVTX heaps");
    *step = (struct nvtx_heap_step){
        .record = record, .time = record->head.time, .thread = event->thread, .order = (uint32_t)heaps->steps.count};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct nvtx_heap_step *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int nvtx_heaps_sort(struct nvtx_heaps *heaps)
{
    return file_vector_sort(&heaps->steps, by_time) == 0 ? 0 : error_no_memory("NVTX heaps");
}

/* The heap, made when it is new: one that was registered before recording began has no record. */
static struct nvtx_heap *heap_of(struct nvtx_heaps *heaps, uint32_t domain, uint64_t handle)
{
    uint64_t *index = map_put(&heaps->heap_of, payload_key(domain, handle), NULL);
    if (index && *index)
        return &heaps->items.items[*index - 1];
    struct nvtx_heap *heap = index ? array_push(&heaps->items) : NULL;
    if (!heap) {
        error_no_memory("NVTX heaps");
        return NULL;
    }
    *heap = (struct nvtx_heap){.handle = handle, .domain = domain};
    *index = heaps->items.count;
    return heap;
}

static struct nvtx_region *region_of(struct nvtx_heaps *heaps, uint32_t domain, uint64_t handle, bool *is_new)
{
    uint64_t *index = map_put(&heaps->region_of, payload_key(domain, handle), is_new);
    if (index && *index)
        return &heaps->regions.items[*index - 1];
    struct nvtx_region *region = index ? array_push(&heaps->regions) : NULL;
    if (!region) {
        error_no_memory("NVTX heaps");
        return NULL;
    }
    *region = (struct nvtx_region){.handle = handle};
    *index = heaps->regions.count;
    return region;
}

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

static int register_region(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, uint64_t handle)
{
    struct nvtx_region *region = region_of(heaps, record->domain, handle, NULL);
    struct nvtx_heap *heap = region ? heap_of(heaps, record->domain, record->heap) : NULL;
    if (!heap)
        return -1;
    uint32_t *member = array_push(&heap->members);
    if (!member)
        return error_no_memory("NVTX heaps");
    heaps->registered++;
    *member = (uint32_t)(region - heaps->regions.items);
    drop(heaps, region);
    region->heap = (uint32_t)(heap - heaps->items.items);
    region->name = (struct payload_text){NULL, 0};
    set_size(heaps, region, record->size);
    region->live = true;
    return 0;
}

static void empty(struct nvtx_heaps *heaps, struct nvtx_heap *heap)
{
    for (size_t i = 0; i < heap->members.count; i++) {
        struct nvtx_region *region = &heaps->regions.items[heap->members.items[i]];
        if (region->heap == (uint32_t)(heap - heaps->items.items))
            drop(heaps, region);
    }
    heap->members.count = 0;
}

static int change_heap(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record)
{
    struct nvtx_heap *heap = heap_of(heaps, record->domain, record->heap);
    if (!heap)
        return -1;
    empty(heaps, heap); /* of a reset, an end, and of one that takes the address of another */
    if (record->head.flags == SPOOL_NVTX_MEMORY_HEAP_REGISTER) {
        const char *text = record->text;
        heap->name = (struct payload_text){record->length ? text : NULL, record->length};
        heap->size = record->size;
    } else if (record->head.flags == SPOOL_NVTX_MEMORY_HEAP_UNREGISTER) {
        heap->size = 0;
    }
    note_change(heaps, (uint32_t)(heap - heaps->items.items));
    return 0;
}

static uint64_t region_handle(const struct spool_nvtx_memory *record)
{
    return record->region ? record->region : record->address;
}

static int change_region(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record)
{
    const uint64_t *index = map_get(&heaps->region_of, payload_key(record->domain, region_handle(record)));
    struct nvtx_region *region = index && *index ? &heaps->regions.items[*index - 1] : NULL;
    const char *text = record->text;
    if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_REGISTER)
        return register_region(heaps, record, region_handle(record));
    if (!region || !region->live)
        return 0;
    if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_RESIZE)
        set_size(heaps, region, record->size);
    else if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_UNREGISTER)
        drop(heaps, region);
    else if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_NAME)
        region->name = (struct payload_text){record->length ? text : NULL, record->length};
    return 0;
}

/* The live ones move together, and into their heaps again. */
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

static bool is_of_heap(uint16_t operation)
{
    return operation >= SPOOL_NVTX_MEMORY_HEAP_REGISTER && operation <= SPOOL_NVTX_MEMORY_HEAP_RESET;
}

static bool is_of_region(uint16_t operation)
{
    return (operation >= SPOOL_NVTX_MEMORY_REGION_REGISTER && operation <= SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN) ||
           operation == SPOOL_NVTX_MEMORY_INITIALIZED;
}

int nvtx_heaps_apply(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, const struct nvtx_heap **heap,
                     const struct nvtx_region **region)
{
    bool of_heap = is_of_heap(record->head.flags), of_region = is_of_region(record->head.flags);
    *heap = NULL;
    *region = NULL;
    heaps->changed_count = 0;
    if (heaps->registered > heaps->lived + NVTX_HEAPS_GONE && forget_gone(heaps) != 0)
        return -1;
    if ((of_heap && change_heap(heaps, record) != 0) || (of_region && change_region(heaps, record) != 0))
        return -1;
    const uint64_t *index = NULL;
    if (of_region)
        index = map_get(&heaps->region_of, payload_key(record->domain, region_handle(record)));
    if (index && *index) {
        *region = &heaps->regions.items[*index - 1];
        *heap = &heaps->items.items[(*region)->heap];
    }
    if (of_heap) {
        index = map_get(&heaps->heap_of, payload_key(record->domain, record->heap));
        *heap = index && *index ? &heaps->items.items[*index - 1] : NULL;
    }
    return 0;
}

/*
 * Memory that the program annotates through NVTX: counters of heaps, and an instant for each call.
 */

static const char *operation_words(uint16_t operation)
{
    static const char *const words[SPOOL_NVTX_MEMORY_OPERATION_COUNT] = {
#define OPERATION(name, text) [SPOOL_NVTX_MEMORY_##name] = text,
        SPOOL_NVTX_MEMORY_OPERATIONS(OPERATION)
#undef OPERATION
    };
    return words[operation];
}

/* --- counters --- */

/* "NVTX heap pool": by its name, else by its handle. To be released. */
static void heap_name(struct buffer *name, const struct nvtx_heap *heap)
{
    buffer_init_memory(name);
    buffer_text(name, "NVTX heap ");
    if (heap->name.text)
        buffer_bytes(name, heap->name.text, heap->name.length);
    else if (heap->handle == 0)
        buffer_text(name, "of the process");
    else
        buffer_format(name, "0x%llx", (unsigned long long)heap->handle);
}

static void write_heap(struct piece_writer *out, const struct process *process, const struct nvtx_heap *heap,
                       uint64_t time)
{
    static const char size[] = "size", regions[] = "regions";
    const struct counter_value values[] = {
        {.name = regions, .length = sizeof(regions) - 1, .kind = COUNTER_UNSIGNED, .u64 = heap->regions},
        {.name = size, .length = sizeof(size) - 1, .kind = COUNTER_UNSIGNED, .u64 = heap->size},
    };
    struct buffer name;
    heap_name(&name, heap);
    struct counter counter = {.name = name_passing(name.data, name.length),
                              .pid = process->pid,
                              .time = time,
                              .values = values,
                              .value_count = heap->handle == 0 ? 1 : 2}; /* a process's is as large as it is */
    out->sink.format->counter(&out->sink, &counter);
    buffer_release(&name);
}

static void write_heaps(struct piece_writer *out, struct process *process, uint64_t time)
{
    struct nvtx_heaps *heaps = process->nvtx_heaps;
    for (unsigned i = 0; i < heaps->changed_count; i++)
        write_heap(out, process, &heaps->items.items[heaps->changed[i]], time);
}

/* --- instants --- */

/* "READ | WRITE", what of NAMES has its bit set; to be written when it is asked for. */
static void put_bits(struct buffer *buffer, uint64_t bits, const char *const *names, size_t count)
{
    bool any = false;
    buffer_char(buffer, '"');
    for (size_t i = 0; i < count; i++) {
        if (!(bits >> i & 1))
            continue;
        buffer_format(buffer, "%s%s", any ? " | " : "", names[i]);
        any = true;
    }
    buffer_text(buffer, any ? "\"" : "none\"");
}

static void put_access(struct buffer *buffer, const struct arg_json *arg)
{
    static const char *const names[] = {"read", "write", "atomic", "reset"};
    put_bits(buffer, arg->number, names, sizeof(names) / sizeof(*names));
}

static void put_strictness(struct buffer *buffer, const struct arg_json *arg)
{
    static const char *const names[] = {"strict read", "strict write", "strict atomic"};
    put_bits(buffer, arg->number, names, sizeof(names) / sizeof(*names));
}

static void put_exclusion(struct buffer *buffer, const struct arg_json *arg)
{
    static const char *const names[] = {"exclude global read", "exclude global write", "exclude global atomic"};
    put_bits(buffer, arg->number, names, sizeof(names) / sizeof(*names));
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

static void args_words(struct args *args, enum arg_key key, const char *words)
{
    args_text(args, key, words, strlen(words));
}

static void describe_kind(struct args *args, const struct spool_nvtx_memory *record)
{
    switch (record->type) { /* NVTX_MEM_TYPE_… */
    case 0: break;
    case 0x1: args_words(args, ARG_KIND, "virtual address"); break;
    case 0x11: args_words(args, ARG_KIND, "CUDA array"); break;
    case 0x12: args_words(args, ARG_KIND, "CUDA driver array"); break;
    default: args_u64(args, ARG_KIND, record->type); break;
    }
    switch (record->usage) { /* NVTX_MEM_HEAP_USAGE_TYPE_… */
    case 0: break;
    case 1: args_words(args, ARG_USAGE, "sub-allocator"); break;
    case 2: args_words(args, ARG_USAGE, "layout"); break;
    default: args_u64(args, ARG_USAGE, record->usage); break;
    }
}

static void describe_place(struct args *args, const struct spool_nvtx_memory *record, const struct nvtx_heap *heap,
                           const struct nvtx_region *region)
{
    uint64_t address = record->address ? record->address : record->region;
    bool is_array = record->type == 0x11 || record->type == 0x12;
    if (heap && heap->name.text)
        args_text(args, ARG_HEAP, heap->name.text, heap->name.length);
    else if (record->heap)
        args_add(args, ARG_HEAP, ARG_TYPE_HEX)->u64 = record->heap;
    if (region && region->name.text)
        args_text(args, ARG_NAME, region->name.text, region->name.length);
    if (address)
        args_add(args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = address;
    if (record->size)
        args_u64(args, ARG_BYTES, record->size);
    if (is_array && record->extent[0]) {
        args_json(args, ARG_OFFSET, put_extent, 0, record->offset);
        args_json(args, ARG_EXTENT, put_extent, 0, record->extent);
    }
}

/* By its number, as GPU work has it; else by its handle. */
static void describe_stream(struct args *args, const struct process *process, uint64_t handle)
{
    const uint64_t *stream = map_get(&process->stream_of_handle, handle);
    if (stream && *stream)
        args_u64(args, ARG_STREAM, *stream - 1);
    else if (handle)
        args_add(args, ARG_STREAM, ARG_TYPE_HEX)->u64 = handle;
}

static void describe_permissions(struct args *args, const struct spool_nvtx_memory *record)
{
    uint16_t operation = record->head.flags;
    if (operation < SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN || operation > SPOOL_NVTX_MEMORY_PEER_ACCESS)
        return;
    if (record->permissions == 0 && operation != SPOOL_NVTX_MEMORY_PERMISSIONS_UNBIND)
        args_words(args, ARG_PERMISSIONS, "process");
    else if (record->permissions != 0)
        args_add(args, ARG_PERMISSIONS, ARG_TYPE_HEX)->u64 = record->permissions;
    if (operation == SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN || operation == SPOOL_NVTX_MEMORY_PEER_ACCESS)
        args_json(args, ARG_ACCESS, put_access, record->flags, NULL);
    else if (operation == SPOOL_NVTX_MEMORY_PERMISSIONS_BIND)
        args_json(args, ARG_FLAGS, put_strictness, record->flags, NULL);
    else if (operation == SPOOL_NVTX_MEMORY_PERMISSIONS_CREATE)
        args_json(args, ARG_FLAGS, put_exclusion, record->flags, NULL);
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
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, record->domain);
    struct nvtx_text category = nvtx_category_name(process->nvtx, record->domain, record->category);
    struct args args = {0};
    if (!thread)
        return;
    if (domain.text)
        args_text(&args, ARG_DOMAIN, domain.text, domain.length);
    if (record->category && category.text)
        args_text(&args, ARG_CATEGORY, category.text, category.length);
    else if (record->category)
        args_u64(&args, ARG_CATEGORY, record->category);
    describe_kind(&args, record);
    describe_place(&args, record, heap, region);
    describe_stream(&args, process, record->stream);
    describe_permissions(&args, record);
    struct slice instant = {.category = CATEGORY_NVTX_MEMORY,
                            .name = name_plain(operation_words(record->head.flags)),
                            .row = {thread->pid, thread->tids[0]},
                            .start = step->time,
                            .args = &args};
    out->sink.format->instant(&out->sink, &instant);
}

int write_nvtx_memory(struct piece_writer *out, struct process *process)
{
    struct nvtx_heaps *heaps = process->nvtx_heaps;
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
        write_heaps(out, process, step->time);
    }
    return 0;
}
