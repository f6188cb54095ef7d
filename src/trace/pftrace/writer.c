/*
 * Writes Perfetto's own format. trace/pftrace/fields.h describes how it is used.
 *
 * Perfetto binds flows to slices, not to times: a call has the numbers of the GPU operations that it started
 * (gpu_correlation), and each operation has its number (event_id). So a slice is held until the flows that follow it
 * are known. A GPU operation without a flow has the number 0. The argument "correlation" is written only if it differs
 * from the flow's number.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/protobuf.h"
#include "trace/pftrace/writer_events.h"

/* Returns SINK's new state, with the ROWS of the whole (NULL: its own). Returns NULL without memory, after setting the
 * failure of the sink's buffer. */
static struct pftrace_state *pftrace_state_new(struct sink *sink, const struct pftrace_rows *rows)
{
    struct pftrace_state *state = calloc(1, sizeof(*state));
    sink->state = state;
    if (!state) {
        pftrace_fail(sink);
        return NULL;
    }
    state->rows = rows ? rows : &state->own_rows;
    pftrace_sequences_init(&state->sequences);
    struct buffer *const buffers[] = {&state->body, &state->launch, &state->shared, &state->text, &state->name};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        buffer_init_memory(buffers[i]);
    return state;
}

/* Writes the slice that is held, and frees the state. */
static void pftrace_state_release(struct sink *sink)
{
    struct pftrace_state *state = sink->state;
    if (!state)
        return;
    pftrace_flush(sink);
    struct buffer *const buffers[] = {&state->body, &state->launch, &state->shared, &state->text, &state->name};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        buffer_release(buffers[i]);
    pftrace_sequences_release(&state->sequences);
    pftrace_rows_release(&state->own_rows);
    array_release(&state->pending.flows);
    array_release(&state->pending.links);
    free(state);
    sink->state = NULL;
}

/* Adds a flow between two TrackEvents. */
static void add_link(struct sink *sink, struct pftrace_pending *pending, const struct flow *flow, uint32_t field)
{
    struct pftrace_link *link = array_push(&pending->links);
    if (!link) {
        pftrace_fail(sink);
        return;
    }
    bool operators = flow->category == CATEGORY_FWDBWD;
    *link = (struct pftrace_link){field, flow->id | (operators ? PFTRACE_FLOW_OF_OPERATOR : PFTRACE_FLOW_OF_CALL)};
}

static void add_flow(struct sink *sink, struct pftrace_pending *pending, const struct flow *flow)
{
    uint64_t *id = array_push(&pending->flows);
    if (!id) {
        pftrace_fail(sink);
        return;
    }
    *id = flow->id;
    uint64_t time = pftrace_time(sink, flow->time);
    pending->delay = pending->what == PFTRACE_GPU_OP && time > pending->start ? time - pending->start : 0;
}

static void write_flow(struct sink *sink, const struct flow *flow)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_pending *pending = state ? &state->pending : NULL;
    bool between_operators = flow->category == CATEGORY_FWDBWD;
    /* A flow that follows another event than its slice is dropped. */
    if (!pending || pending->what == PFTRACE_NOTHING || pending->row.pid != flow->row.pid ||
        pending->row.tid != flow->row.tid)
        return;
    if (pending->what != PFTRACE_CALL && flow->ends && !between_operators)
        add_flow(sink, pending, flow);
    if (pending->what != PFTRACE_CALL)
        return;
    if (flow->ends)
        add_link(sink, pending, flow, PB_EVENT_TERMINATING_FLOW_IDS);
    else if (pending->waits || between_operators)
        add_link(sink, pending, flow, PB_EVENT_FLOW_IDS);
    else
        add_flow(sink, pending, flow);
}

static void write_mark(struct sink *sink, uint64_t mark)
{
    struct pftrace_state *state = sink->state;
    state->body.length = 0;
    protobuf_put_u64(&state->body, PFTRACE_OWN_WHOLE, mark);
    pftrace_plain_packet(sink->buffer, &state->body);
}

/* Returns the state of the whole file, and begins the file at the first call. Returns NULL after a failure. */
static struct pftrace_state *begin_file(struct sink *sink)
{
    if (!sink->state && pftrace_state_new(sink, NULL))
        write_mark(sink, PFTRACE_FILE_BEGINS);
    return sink->state;
}

/* --- the GPUs in the metadata "deviceProperties" --- */

static void put_text(struct pftrace_state *state, uint32_t field, const char *text)
{
    pftrace_put_valid(state, &state->body, field, text, strlen(text));
}

#define GPUS_MOST 1024 /* devices with larger numbers are ignored */

static int number_of(const cJSON *device, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(device, key);
    return cJSON_IsNumber(value) ? value->valueint : -1;
}

/* Returns the name of the architecture with a compute capability, or NULL if it is newer than this list. */
static const char *architecture(int major, int minor)
{
    static const struct {
        int major, minor; /* first compute capability of the name */
        const char *name;
    } names[] = {{13, 0, NULL},    {10, 0, "Blackwell"}, {9, 0, "Hopper"}, {8, 9, "Ada"},     {8, 0, "Ampere"},
                 {7, 5, "Turing"}, {7, 0, "Volta"},      {6, 0, "Pascal"}, {5, 0, "Maxwell"}, {3, 0, "Kepler"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (major > names[i].major || (major == names[i].major && minor >= names[i].minor))
            return names[i].name;
    return NULL;
}

/* Writes "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" as bytes, which Perfetto shows as digits. */
static void put_uuid(struct buffer *packet, const char *text)
{
    char bytes[16];
    size_t count = 0;
    unsigned byte;
    for (text += strncmp(text, "GPU-", 4) == 0 ? 4 : 0; *text && count < sizeof(bytes); text += 2) {
        text += *text == '-';
        if (sscanf(text, "%2x", &byte) != 1 || !text[1])
            return;
        bytes[count++] = (char)byte;
    }
    if (count == sizeof(bytes) && !*text)
        protobuf_put_bytes(packet, PB_GPU_UUID, bytes, count);
}

/* Writes a GPU. Perfetto counts GPUs from 0, so a number without a device (DEVICE is NULL) gets an empty entry. */
static void put_gpu(struct pftrace_state *state, const cJSON *device)
{
    size_t gpu = protobuf_begin(&state->body, PB_GPU_INFO_GPUS);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "name"));
    const char *uuid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "uuid"));
    const char *sort = architecture(number_of(device, "computeMajor"), number_of(device, "computeMinor"));
    const char *address = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "pciBusId"));
    if (name) {
        put_text(state, PB_GPU_NAME, name);
        put_text(state, PB_GPU_MODEL, name);
    }
    if (device)
        put_text(state, PB_GPU_VENDOR, "NVIDIA");
    if (address)
        put_text(state, PB_GPU_PCI_BDF, address);
    if (sort)
        put_text(state, PB_GPU_ARCHITECTURE, sort);
    if (uuid)
        put_uuid(&state->body, uuid);
    if (device) {
        /* All other numbers of the device. */
        for (const cJSON *value = device->child; value; value = value->next) {
            char text[32];
            if (!cJSON_IsNumber(value) || strcmp(value->string, "id") == 0)
                continue;
            snprintf(text, sizeof(text), "%.15g", value->valuedouble);
            size_t fact = protobuf_begin(&state->body, PB_GPU_EXTRA_INFO);
            put_text(state, PB_GPU_EXTRA_KEY, value->string);
            put_text(state, PB_GPU_EXTRA_VALUE, text);
            protobuf_end(&state->body, fact);
        }
    }
    protobuf_end(&state->body, gpu);
}

/* Returns the first device with the number ID, or NULL. Processes that see different GPUs have several with one
 * number. */
static const cJSON *find_device(const cJSON *devices, int id)
{
    const cJSON *device;
    cJSON_ArrayForEach(device, devices) if (number_of(device, "id") == id) return device;
    return NULL;
}

static uint32_t limit_of(const cJSON *device, const char *key)
{
    int value = number_of(device, key);
    return value > 0 ? (uint32_t)value : 0;
}

/* Appends the limits of DEVICE to state->own_rows.gpus; all 0 if DEVICE is NULL. */
static void keep_limits(struct sink *sink, const cJSON *device)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_gpu *gpu = array_push(&state->own_rows.gpus);
    if (!gpu) {
        pftrace_fail(sink);
        return;
    }
    *gpu = (struct pftrace_gpu){.multiprocessors = limit_of(device, "numSms")};
    struct multiprocessor *one = &gpu->multiprocessor;
    one->major = limit_of(device, "computeMajor");
    one->warp_size = limit_of(device, "warpSize");
    one->warps = one->warp_size ? limit_of(device, "maxThreadsPerMultiprocessor") / one->warp_size : 0;
    one->blocks = multiprocessor_most_blocks(one->major, limit_of(device, "computeMinor"));
    one->registers = limit_of(device, "regsPerMultiprocessor");
    one->shared_bytes = limit_of(device, "sharedMemPerMultiprocessor");
}

static void write_gpus(struct sink *sink, const char *value, size_t size)
{
    struct pftrace_state *state = sink->state;
    cJSON *devices = cJSON_ParseWithLength(value, size), *device;
    int count = 0;
    for (device = cJSON_IsArray(devices) ? devices->child : NULL; device; device = device->next) {
        int id = number_of(device, "id");
        count = id >= count && id < GPUS_MOST ? id + 1 : count;
    }
    for (int id = 0; id < count; id++)
        keep_limits(sink, find_device(devices, id));
    state->body.length = 0;
    size_t info = protobuf_begin(&state->body, PB_PACKET_GPU_INFO);
    for (int id = 0; id < count; id++)
        put_gpu(state, find_device(devices, id));
    protobuf_end(&state->body, info);
    if (count > 0)
        pftrace_plain_packet(sink->buffer, &state->body);
    cJSON_Delete(devices);
}

/* --- the sink --- */

static void write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct pftrace_state *state = begin_file(sink);
    if (!state)
        return;
    pftrace_flush(sink);
    struct buffer *packet = &state->body;
    packet->length = 0;
    size_t attributes = protobuf_begin(packet, PB_PACKET_TRACE_ATTRIBUTES);
    size_t attribute = protobuf_begin(packet, PB_ATTRIBUTES_ATTRIBUTE);
    protobuf_put_text(packet, PB_ATTRIBUTE_KEY, key);
    protobuf_put_bytes(packet, PB_ATTRIBUTE_STRING_VALUE, value, size);
    protobuf_end(packet, attribute);
    protobuf_end(packet, attributes);
    pftrace_plain_packet(sink->buffer, packet);
    if (strcmp(key, "deviceProperties") == 0)
        write_gpus(sink, value, size);
    if (strcmp(key, "stackFrames") == 0)
        pftrace_read_frames(sink, value, size);
}

static void write_begin(struct sink *sink, uint64_t base)
{
    struct pftrace_state *state = begin_file(sink);
    sink->base = base;
    sink->any = true;
    if (!state)
        return;
    pftrace_flush(sink);
    pftrace_relate_clocks(&state->body, sink->buffer, base);
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    if (!sink->state)
        return;
    pftrace_flush(sink);
    pftrace_write_process(sink, process);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    if (!sink->state)
        return;
    pftrace_flush(sink);
    pftrace_write_thread(sink, thread);
}

static void begin_piece(struct sink *piece)
{
    const struct pftrace_state *whole = piece->state;
    pftrace_state_new(piece, whole ? whole->rows : NULL);
}

static void write_finish(struct sink *sink)
{
    if (!sink->state)
        return;
    pftrace_flush(sink);
    write_mark(sink, PFTRACE_FILE_ENDS);
}

const struct sink_format pftrace = {
    .name = "pftrace",
    .piece_scale = 16,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = pftrace_write_slice,
    .instant = pftrace_write_instant,
    .async = pftrace_write_async,
    .counter = pftrace_write_counter,
    .flow = write_flow,
    .finish = write_finish,
    .release = pftrace_state_release,
};
