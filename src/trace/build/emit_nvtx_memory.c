/*
 * Memory that the program annotates through NVTX: counters of heaps, and an instant for each call.
 */
#include <stdio.h>
#include <string.h>

#include "common/sink.h"
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/build/nvtx_extensions.h"

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
static void heap_name(struct sink *name, const struct nvtx_heap *heap)
{
    sink_init_memory(name);
    sink_text(name, "NVTX heap ");
    if (heap->name.text)
        sink_bytes(name, heap->name.text, heap->name.length);
    else if (heap->handle == 0)
        sink_text(name, "of the process");
    else
        sink_format(name, "0x%llx", (unsigned long long)heap->handle);
}

static void emit_heap(struct emitter *emitter, const struct process *process, const struct nvtx_heap *heap,
                      uint64_t time)
{
    static const char size[] = "size", regions[] = "regions";
    const struct counter_value values[] = {
        {.name = regions, .length = sizeof(regions) - 1, .kind = COUNTER_UNSIGNED, .u64 = heap->regions},
        {.name = size, .length = sizeof(size) - 1, .kind = COUNTER_UNSIGNED, .u64 = heap->size},
    };
    struct sink name;
    heap_name(&name, heap);
    struct counter counter = {.name = name_passing(name.data, name.length),
                              .pid = process->pid,
                              .time = time,
                              .values = values,
                              .value_count = heap->handle == 0 ? 1 : 2}; /* a process's is as large as it is */
    emitter->writer.format->counter(&emitter->writer, &counter);
    sink_release(&name);
}

static void emit_heaps(struct emitter *emitter, struct process *process, uint64_t time)
{
    struct nvtx_heaps *heaps = &process->extensions.heaps;
    for (unsigned i = 0; i < heaps->changed_count; i++)
        emit_heap(emitter, process, &heaps->items.items[heaps->changed[i]], time);
}

/* --- instants --- */

/* "READ | WRITE", what of NAMES has its bit set; to be written when it is asked for. */
static void put_bits(struct sink *sink, uint64_t bits, const char *const *names, size_t count)
{
    bool any = false;
    sink_char(sink, '"');
    for (size_t i = 0; i < count; i++) {
        if (!(bits >> i & 1))
            continue;
        sink_format(sink, "%s%s", any ? " | " : "", names[i]);
        any = true;
    }
    sink_text(sink, any ? "\"" : "none\"");
}

static void put_access(struct sink *sink, const struct arg_json *arg)
{
    static const char *const names[] = {"read", "write", "atomic", "reset"};
    put_bits(sink, arg->number, names, sizeof(names) / sizeof(*names));
}

static void put_strictness(struct sink *sink, const struct arg_json *arg)
{
    static const char *const names[] = {"strict read", "strict write", "strict atomic"};
    put_bits(sink, arg->number, names, sizeof(names) / sizeof(*names));
}

static void put_exclusion(struct sink *sink, const struct arg_json *arg)
{
    static const char *const names[] = {"exclude global read", "exclude global write", "exclude global atomic"};
    put_bits(sink, arg->number, names, sizeof(names) / sizeof(*names));
}

static void put_extent(struct sink *sink, const struct arg_json *arg)
{
    const uint64_t *size = arg->context;
    sink_format(sink, "[%llu,%llu,%llu]", (unsigned long long)size[0], (unsigned long long)size[1],
                (unsigned long long)size[2]);
}

static void args_json(struct args *args, enum arg_key key, void (*put)(struct sink *, const struct arg_json *),
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

static void emit_call(struct emitter *emitter, struct process *process, const struct nvtx_heap_step *step,
                      const struct nvtx_heap *heap, const struct nvtx_region *region)
{
    const struct spool_nvtx_memory *record = step->record;
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, step->thread);
    struct nvtx_text domain = nvtx_domain_name(&process->nvtx, record->domain);
    struct nvtx_text category = nvtx_category_name(&process->nvtx, record->domain, record->category);
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
    emitter->writer.format->instant(&emitter->writer, &instant);
}

int emit_nvtx_memory(struct emitter *emitter, struct process *process)
{
    struct nvtx_heaps *heaps = &process->extensions.heaps;
    for (size_t i = 0; i < heaps->steps.count; i++) {
        const struct nvtx_heap_step *step = &heaps->steps.items[i];
        const struct nvtx_heap *heap;
        const struct nvtx_region *region;
        emitter_passed(emitter, process);
        if (nvtx_heaps_apply(heaps, step->record, &heap, &region) != 0)
            return -1;
        if (!windows_hold(&process->windows, step->time))
            continue;
        emit_call(emitter, process, step, heap, region);
        emit_heaps(emitter, process, step->time);
    }
    return 0;
}
