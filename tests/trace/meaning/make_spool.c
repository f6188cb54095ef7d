#include "tests/trace/meaning/make_spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_activity.h>
#include <cupti_activity_deprecated.h>
#include "common/cupti.h"

static void *grow(struct make_spool *spool, size_t size)
{
    if (spool->size + size > spool->capacity) {
        spool->capacity = (spool->size + size) * 2;
        spool->data = realloc(spool->data, spool->capacity);
        if (!spool->data)
            abort();
    }
    void *at = spool->data + spool->size;
    memset(at, 0, size);
    spool->size += size;
    return at;
}

void make_spool_init(struct make_spool *spool, uint32_t pid, uint32_t cupti_version)
{
    *spool = (struct make_spool){0};
    grow(spool, SPOOL_HEADER_BYTES);
    struct spool_header *header = make_spool_header(spool);
    memcpy(header->magic, SPOOL_MAGIC, sizeof(header->magic));
    header->version = SPOOL_VERSION;
    header->header_bytes = SPOOL_HEADER_BYTES;
    header->pid = pid;
    header->parent_pid = 1;
    header->state = SPOOL_FINISHED;
    header->cupti_version = cupti_version;
    header->driver_version = 13000;
    header->runtime_version = 13000;
    header->started = MAKE_SPOOL_START;
    strcpy(header->program, "app");
    strcpy(header->command, "./app --fast");
    for (uint32_t kind = 0; kind < SPOOL_CUPTI_KINDS; kind++)
        header->record_bytes[kind] = cupti_record_bytes(kind, cupti_version < CUPTI_13_1 ? cupti_version : CUPTI_13_0);
}

void make_spool_release(struct make_spool *spool)
{
    free(spool->data);
}

struct spool_header *make_spool_header(struct make_spool *spool)
{
    return (struct spool_header *)(void *)spool->data;
}

struct spool_chunk *make_spool_chunk_header(struct make_spool *spool)
{
    return (struct spool_chunk *)(void *)(spool->data + spool->chunk);
}

void make_spool_chunk(struct make_spool *spool, enum spool_chunk_type type, uint32_t thread)
{
    spool->chunk = spool->size;
    struct spool_chunk *chunk = grow(spool, sizeof(*chunk));
    chunk->magic = SPOOL_CHUNK_MAGIC;
    chunk->type = (uint16_t)type;
    chunk->state = SPOOL_IN_USE;
    chunk->sequence = ++spool->sequence;
    chunk->opened = MAKE_SPOOL_START;
    chunk->thread = thread;
}

void make_spool_done(struct make_spool *spool, enum spool_chunk_state state)
{
    struct spool_chunk *chunk = make_spool_chunk_header(spool);
    size_t used = spool->size - spool->chunk - sizeof(*chunk);
    size_t whole = (sizeof(*chunk) + used + spool->space + SPOOL_ALIGN - 1) / SPOOL_ALIGN * SPOOL_ALIGN;
    grow(spool, whole - sizeof(*chunk) - used);
    chunk = make_spool_chunk_header(spool);
    chunk->state = (uint16_t)state;
    chunk->bytes = whole;
    chunk->used = chunk->type == SPOOL_CUPTI && state != SPOOL_DONE ? 0 : used;
    make_spool_header(spool)->formatted = spool->size;
    spool->chunk = 0;
}

void make_spool_begin(struct make_spool *spool, uint32_t pid, uint32_t thread)
{
    make_spool_init(spool, pid, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, thread);
}

void make_spool_save_as(struct make_spool *spool, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file || fwrite(spool->data, 1, spool->size, file) != spool->size || fclose(file) != 0) {
        perror(path);
        abort();
    }
}

void make_spool_save(struct make_spool *spool, const char *directory)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%u-0.spool", directory, make_spool_header(spool)->pid);
    make_spool_save_as(spool, path);
}

/* No chunk is larger than a segment. */
void *make_spool_bytes(struct make_spool *spool, size_t size)
{
    struct spool_chunk chunk = *make_spool_chunk_header(spool);
    if (spool->chunk != 0 && spool->size - spool->chunk + size + spool->space > SPOOL_SEGMENT_BYTES) {
        make_spool_done(spool, SPOOL_DONE);
        make_spool_chunk(spool, (enum spool_chunk_type)chunk.type, chunk.thread);
    }
    return grow(spool, size);
}

static uint64_t at_time(uint64_t time)
{
    return MAKE_SPOOL_START + time;
}

void make_cupti(struct make_spool *spool, uint32_t kind, const void *record, size_t size)
{
    uint16_t bytes = make_spool_header(spool)->record_bytes[kind & ~SPOOL_IN_FLIGHT];
    memcpy(make_spool_bytes(spool, bytes), record, size < bytes ? size : bytes);
}

void make_api(struct make_spool *spool, struct make_api api)
{
    CUpti_ActivityAPI record = {
        .kind = api.driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME,
        .cbid = api.cbid,
        .start = at_time(api.start),
        .end = at_time(api.end),
        .processId = make_spool_header(spool)->pid,
        .threadId = api.thread,
        .correlationId = api.correlation,
        .returnValue = api.result,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_kernel(struct make_spool *spool, struct make_kernel kernel)
{
    CUpti_ActivityKernel10 record = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .registersPerThread = kernel.registers ? kernel.registers : 32,
        .start = kernel.start ? at_time(kernel.start) : 0,
        .end = kernel.end ? at_time(kernel.end) : 0,
        .deviceId = kernel.device,
        .contextId = kernel.context ? kernel.context : 1,
        .streamId = kernel.stream ? kernel.stream : 7,
        .gridX = 256,
        .gridY = 1,
        .gridZ = 1,
        .blockX = 128,
        .blockY = 1,
        .blockZ = 1,
        .dynamicSharedMemory = (int32_t)kernel.shared,
        .correlationId = kernel.correlation,
        .name = (const char *)(uintptr_t)kernel.name,
        .graphId = kernel.graph,
        .graphNodeId = kernel.node,
    };
    uint32_t kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL | (kernel.in_flight ? SPOOL_IN_FLIGHT : 0);
    memcpy(&record, &kind, sizeof(kind));
    make_cupti(spool, kind, &record, sizeof(record));
}

static void make_peer_copy(struct make_spool *spool, struct make_copy copy)
{
    CUpti_ActivityMemcpyPtoP4 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
        .copyKind = copy.kind,
        .srcKind = copy.source,
        .dstKind = copy.target,
        .bytes = copy.bytes,
        .start = at_time(copy.start),
        .end = at_time(copy.end),
        .deviceId = copy.device,
        .contextId = copy.context ? copy.context : 1,
        .streamId = copy.stream ? copy.stream : 7,
        .srcDeviceId = copy.source_device,
        .dstDeviceId = copy.target_device,
        .correlationId = copy.correlation,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_copy(struct make_spool *spool, struct make_copy copy)
{
    if (copy.peer) {
        make_peer_copy(spool, copy);
        return;
    }
    CUpti_ActivityMemcpy6 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copyKind = copy.kind,
        .srcKind = copy.source,
        .dstKind = copy.target,
        .bytes = copy.bytes,
        .start = at_time(copy.start),
        .end = at_time(copy.end),
        .deviceId = copy.device,
        .contextId = copy.context ? copy.context : 1,
        .streamId = copy.stream ? copy.stream : 7,
        .correlationId = copy.correlation,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_set(struct make_spool *spool, struct make_set set)
{
    CUpti_ActivityMemset4 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET,
        .bytes = set.bytes,
        .start = at_time(set.start),
        .end = at_time(set.end),
        .deviceId = set.device,
        .contextId = set.context ? set.context : 1,
        .streamId = set.stream ? set.stream : 7,
        .correlationId = set.correlation,
        .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_sync(struct make_spool *spool, struct make_sync sync)
{
    CUpti_ActivitySynchronization2 record = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = (CUpti_ActivitySynchronizationType)sync.type,
        .start = at_time(sync.start),
        .end = at_time(sync.end),
        .correlationId = sync.correlation,
        .contextId = sync.context ? sync.context : 1,
        .streamId = sync.stream,
        .cudaEventId = sync.event,
        .cudaEventSyncId = sync.sync_id,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_cuda_event(struct make_spool *spool, struct make_cuda_event event)
{
    CUpti_ActivityCudaEvent2 record = {
        .kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
        .correlationId = event.correlation,
        .contextId = event.context ? event.context : 1,
        .streamId = event.stream ? event.stream : 7,
        .eventId = event.event,
        .deviceId = event.device,
        .deviceTimestamp = event.time ? at_time(event.time) : 0,
        .cudaEventSyncId = event.sync_id,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_graph(struct make_spool *spool, struct make_graph graph)
{
    CUpti_ActivityGraphTrace2 record = {
        .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
        .correlationId = graph.correlation,
        .start = at_time(graph.start),
        .end = at_time(graph.end),
        .deviceId = graph.device,
        .graphId = graph.graph,
        .contextId = graph.context ? graph.context : 1,
        .streamId = graph.stream ? graph.stream : 7,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_overhead(struct make_spool *spool, uint64_t start, uint64_t end, uint32_t thread)
{
    CUpti_ActivityOverhead3 record = {
        .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
        .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
        .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
        .start = at_time(start),
        .end = at_time(end),
    };
    record.objectId.pt.processId = make_spool_header(spool)->pid;
    record.objectId.pt.threadId = thread;
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_device(struct make_spool *spool, uint32_t device, uint64_t name)
{
    CUpti_ActivityDevice5 record = {
        .kind = CUPTI_ACTIVITY_KIND_DEVICE,
        .globalMemorySize = UINT64_C(150109880320),
        .numThreadsPerWarp = 32,
        .numMultiprocessors = 132,
        .maxWarpsPerMultiprocessor = 64,
        .maxBlocksPerMultiprocessor = 32,
        .maxSharedMemoryPerMultiprocessor = 233472,
        .maxRegistersPerMultiprocessor = 65536,
        .maxRegistersPerBlock = 65536,
        .maxSharedMemoryPerBlock = 49152,
        .maxThreadsPerBlock = 1024,
        .computeCapabilityMajor = 9,
        .id = device,
        .name = (const char *)(uintptr_t)name,
    };
    make_cupti(spool, record.kind, &record, sizeof(record));
}

void make_context(struct make_spool *spool, uint32_t context, uint32_t device)
{
    CUpti_ActivityContext3 record = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = context, .deviceId = device};
    make_cupti(spool, record.kind, &record, sizeof(record));
}

static void *put_own(struct make_spool *spool, uint16_t type, uint64_t time, size_t size, size_t space,
                     const char *text)
{
    return make_own(spool, type, time, size, space, text, text ? strlen(text) : 0);
}

void *make_own(struct make_spool *spool, uint16_t type, uint64_t time, size_t size, size_t space, const void *text,
               size_t text_length)
{
    uint32_t length = (uint32_t)text_length;
    uint32_t bytes = spool_record_bytes((uint32_t)size, (uint32_t)space, length);
    struct spool_record *record = make_spool_bytes(spool, bytes);
    record->type = type;
    record->bytes = bytes;
    record->time = at_time(time);
    if (text)
        memcpy((char *)record + size - space, text, length);
    return record;
}

#define PUT_TEXT(spool, type, structure, time, content) \
    put_own(spool, SPOOL_RECORD_##type, time, sizeof(struct structure), sizeof(((struct structure *)0)->text), content)
#define PUT_FIXED(spool, type, structure, time) \
    put_own(spool, SPOOL_RECORD_##type, time, sizeof(struct structure), 0, NULL)

void make_launch_name(struct make_spool *spool, uint32_t correlation, const char *text)
{
    struct spool_launch_name *name =
        make_own(spool, SPOOL_RECORD_LAUNCH_NAME, 900, sizeof(*name), sizeof(name->text), text, strlen(text));
    name->correlation = correlation;
    name->length = (uint32_t)strlen(text);
}

void make_pointer_name_since(struct make_spool *spool, uint64_t time, uint64_t pointer, const char *name)
{
    struct spool_pointer_name *record = PUT_TEXT(spool, POINTER_NAME, spool_pointer_name, time, name);
    record->pointer = pointer;
    record->length = (uint32_t)strlen(name);
}

void make_pointer_name(struct make_spool *spool, uint64_t pointer, const char *name)
{
    make_pointer_name_since(spool, 0, pointer, name);
}

void make_thread_name(struct make_spool *spool, uint32_t thread, const char *name, int by_program)
{
    struct spool_thread_name *record = PUT_TEXT(spool, THREAD_NAME, spool_thread_name, 0, name);
    record->head.flags = (uint16_t)(by_program ? SPOOL_THREAD_NAME_NVTX : SPOOL_THREAD_NAME_KERNEL);
    record->thread = thread;
    record->length = (uint32_t)strlen(name);
}

void make_note(struct make_spool *spool, const char *text)
{
    struct spool_note *record = PUT_TEXT(spool, NOTE, spool_note, 0, text);
    record->length = (uint32_t)strlen(text);
}

void make_capture(struct make_spool *spool, uint64_t time, int on, const char *reason)
{
    struct spool_capture *record = PUT_TEXT(spool, CAPTURE, spool_capture, time, reason);
    record->head.flags = (uint16_t)on;
    record->length = (uint32_t)strlen(reason);
}

void make_stream(struct make_spool *spool, uint64_t handle, uint32_t context, uint32_t stream)
{
    struct spool_stream *record = PUT_FIXED(spool, STREAM, spool_stream, 0);
    record->handle = handle;
    record->context = context;
    record->stream = stream;
}

void make_context_handle(struct make_spool *spool, uint64_t handle, uint32_t context, uint32_t device)
{
    struct spool_context *record = PUT_FIXED(spool, CONTEXT, spool_context, 0);
    record->handle = handle;
    record->context = context;
    record->device = device;
}

void make_context_end(struct make_spool *spool, uint64_t time, uint32_t context, uint32_t device)
{
    struct spool_context *record = PUT_FIXED(spool, CONTEXT, spool_context, time);
    record->head.flags = SPOOL_DESTROYED;
    record->context = context;
    record->device = device;
}

void make_memory(struct make_spool *spool, struct make_memory memory)
{
    struct spool_memory *record = PUT_FIXED(spool, MEMORY, spool_memory, memory.time);
    record->address = memory.address;
    record->size = memory.size;
    record->device = memory.device;
    record->context = memory.context ? memory.context : 1;
    record->stream = SPOOL_NO_STREAM;
    record->correlation = memory.correlation;
    record->thread = memory.thread;
    record->result = memory.result;
    record->operation = memory.operation;
    record->kind = memory.kind;
    record->stack = memory.stack;
}

void make_pool_level(struct make_spool *spool, struct make_pool_level level)
{
    struct spool_pool_level *record = PUT_FIXED(spool, POOL_LEVEL, spool_pool_level, level.time);
    record->pool = level.pool;
    record->reserved = level.reserved;
    record->used = level.used;
    record->reserved_high = level.reserved_high ? level.reserved_high : level.reserved;
    record->used_high = level.used_high ? level.used_high : level.used;
    record->device = level.device;
}

void make_nvtx(struct make_spool *spool, struct make_nvtx nvtx)
{
    struct spool_nvtx_event *record = PUT_TEXT(spool, NVTX_EVENT, spool_nvtx_event, nvtx.time, nvtx.text);
    record->head.flags = nvtx.what;
    record->range = nvtx.range;
    record->payload = nvtx.payload;
    record->domain = nvtx.domain;
    record->category = nvtx.category;
    record->color = nvtx.color;
    record->color_type = nvtx.color_type;
    record->payload_type = nvtx.payload_type;
    record->string = nvtx.string;
    record->length = (uint32_t)(nvtx.text ? strlen(nvtx.text) : 0);
}

void make_nvtx_plain(struct make_spool *spool, struct make_nvtx nvtx)
{
    struct spool_nvtx_plain *record = PUT_TEXT(spool, NVTX_PLAIN, spool_nvtx_plain, nvtx.time, nvtx.text);
    record->head.flags = nvtx.what;
    record->domain = nvtx.domain;
    record->string = nvtx.string;
    record->length = (uint32_t)(nvtx.text ? strlen(nvtx.text) : 0);
}

void make_nvtx_resource(struct make_spool *spool, struct make_nvtx_resource resource)
{
    struct spool_nvtx_resource *record =
        PUT_TEXT(spool, NVTX_RESOURCE, spool_nvtx_resource, resource.time, resource.name);
    record->head.flags = resource.destroyed ? SPOOL_DESTROYED : SPOOL_CREATED;
    record->resource = resource.resource;
    record->identifier = resource.identifier;
    record->type = resource.type;
    record->domain = resource.domain;
    record->length = (uint32_t)(resource.name ? strlen(resource.name) : 0);
}

void make_own_sync(struct make_spool *spool, struct make_own_sync sync)
{
    struct spool_sync *record = PUT_FIXED(spool, SYNC, spool_sync, sync.end);
    record->head.flags = (uint16_t)sync.kind;
    record->start = at_time(sync.start);
    record->event = sync.event;
    record->context = sync.context ? sync.context : 1;
    record->stream = sync.stream;
    record->correlation = sync.correlation;
    record->result = sync.result;
}

void make_event_record(struct make_spool *spool, uint64_t event, uint32_t correlation, uint32_t stream)
{
    struct spool_event_record *record = PUT_FIXED(spool, EVENT_RECORD, spool_event_record, 0);
    record->event = event;
    record->context = 1;
    record->stream = stream;
    record->correlation = correlation;
}

void make_nvtx_recorded(struct make_spool *spool, uint64_t event, uint32_t correlation)
{
    struct spool_nvtx_recorded *record = PUT_FIXED(spool, NVTX_RECORDED, spool_nvtx_recorded, 0);
    record->event = event;
    record->correlation = correlation;
}

void make_device_range(struct make_spool *spool, struct make_device_range range)
{
    struct spool_device_range *record = PUT_TEXT(spool, DEVICE_RANGE, spool_device_range, range.time, range.text);
    record->head.flags = range.ended ? SPOOL_DEVICE_RANGE_END : SPOOL_DEVICE_RANGE_START;
    record->range = range.range;
    record->correlation = range.correlation;
    record->length = (uint32_t)(range.text ? strlen(range.text) : 0);
}

void make_nvtx_domain(struct make_spool *spool, uint32_t domain, const char *name)
{
    struct spool_nvtx_domain *record = PUT_TEXT(spool, NVTX_DOMAIN, spool_nvtx_domain, 0, name);
    record->domain = domain;
    record->length = (uint32_t)strlen(name);
}

void make_nvtx_string(struct make_spool *spool, uint32_t domain, uint32_t string, const char *text)
{
    struct spool_nvtx_string *record = PUT_TEXT(spool, NVTX_STRING, spool_nvtx_string, 0, text);
    record->domain = domain;
    record->string = string;
    record->length = (uint32_t)strlen(text);
}

void make_nvtx_category(struct make_spool *spool, uint32_t domain, uint32_t category, const char *name)
{
    struct spool_nvtx_category *record = PUT_TEXT(spool, NVTX_CATEGORY, spool_nvtx_category, 0, name);
    record->domain = domain;
    record->category = category;
    record->length = (uint32_t)strlen(name);
}

void make_nvtx_name(struct make_spool *spool, uint32_t what, uint64_t object, uint32_t stream, const char *name)
{
    struct spool_nvtx_name *record = PUT_TEXT(spool, NVTX_NAME, spool_nvtx_name, 0, name);
    record->object = object;
    record->what = what;
    record->stream = stream;
    record->length = (uint32_t)strlen(name);
}
