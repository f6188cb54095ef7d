/*
 * Rows of a trace as Perfetto's tracks: processes and threads are those of the system, all else are tracks below them.
 * GPU operations are drawn on Perfetto's own tracks of the GPU, which take their names from here.
 */
#include "trace/pftrace/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/protobuf.h"
#include "trace/tracks.h"

void pftrace_rows_release(struct pftrace_rows *rows)
{
    pftrace_frames_release(rows);
    for (size_t i = 0; i < rows->items.count; i++)
        free(rows->items.items[i].name);
    array_release(&rows->items);
    map_release(&rows->by_uuid);
}

const struct pftrace_row *pftrace_row(const struct pftrace_rows *rows, struct row row)
{
    const uint64_t *index = map_get(&rows->by_uuid, pftrace_uuid(row.pid, row.tid));
    return index && *index != 0 ? &rows->items.items[*index - 1] : NULL;
}

static void remember(struct sink *sink, uint64_t uuid, const struct row_name *name)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_row *row = array_push(&state->own_rows.items);
    uint64_t *index = row ? map_put(&state->own_rows.by_uuid, uuid, NULL) : NULL;
    if (index && (row->name = strdup(name->name))) {
        row->owner = name->owner;
        *index = state->own_rows.items.count;
    } else {
        pftrace_fail(sink);
    }
}

static size_t begin_descriptor(struct buffer *packet, uint64_t uuid, const struct row_name *name)
{
    packet->length = 0;
    size_t descriptor = protobuf_begin(packet, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(packet, PB_TRACK_UUID, uuid);
    if (name->sort_index == (int32_t)name->sort_index)
        protobuf_put_u64(packet, PB_TRACK_SIBLING_ORDER_RANK, (uint64_t)name->sort_index);
    else
        protobuf_put_u64(packet, PFTRACE_OWN_RANK, (uint64_t)name->sort_index);
    if (name->label)
        protobuf_put_text(packet, PB_TRACK_DESCRIPTION, name->label);
    return descriptor;
}

static void put_text(struct pftrace_state *state, uint32_t field, const char *text)
{
    pftrace_put_valid(state, &state->body, field, text, strlen(text));
}

void pftrace_write_process(struct sink *sink, const struct row_name *process)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    uint64_t uuid = pftrace_uuid(process->row.pid, 0);
    size_t descriptor = begin_descriptor(packet, uuid, process);
    remember(sink, uuid, process);
    if (process->owner != 0) {
        put_text(state, PB_TRACK_NAME, process->name);
        protobuf_put_u64(packet, PFTRACE_OWN_OWNER, process->owner);
    } else {
        size_t message = protobuf_begin(packet, PB_TRACK_PROCESS);
        protobuf_put_u64(packet, PB_PROCESS_PID, process->row.pid);
        put_text(state, PB_PROCESS_NAME, process->name);
        protobuf_end(packet, message);
    }
    protobuf_put_u64(packet, PB_TRACK_CHILD_ORDERING, PB_CHILD_ORDERING_EXPLICIT);
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}

/* A thread of the system, and no further lane of one. */
static bool is_thread(const struct pftrace_state *state, struct row row)
{
    const struct pftrace_row *process = pftrace_row(&state->own_rows, (struct row){row.pid, 0});
    return process && process->owner == 0 && row.tid < TRACKS_EXTRA_TID;
}

void pftrace_write_thread(struct sink *sink, const struct row_name *thread)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    uint64_t uuid = pftrace_uuid(thread->row.pid, thread->row.tid);
    size_t descriptor = begin_descriptor(packet, uuid, thread);
    remember(sink, uuid, thread);
    protobuf_put_u64(packet, PB_TRACK_PARENT_UUID, pftrace_uuid(thread->row.pid, 0));
    if (is_thread(state, thread->row)) {
        size_t message = protobuf_begin(packet, PB_TRACK_THREAD);
        protobuf_put_u64(packet, PB_THREAD_PID, thread->row.pid);
        protobuf_put_u64(packet, PB_THREAD_TID, thread->row.tid);
        put_text(state, PB_THREAD_NAME, thread->name);
        protobuf_end(packet, message);
    } else {
        put_text(state, PB_TRACK_NAME, thread->name);
    }
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}

void pftrace_describe_row(struct sink *sink, struct row row)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    packet->length = 0;
    size_t descriptor = protobuf_begin(packet, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(packet, PB_TRACK_UUID, pftrace_uuid(row.pid, row.tid));
    size_t message = protobuf_begin(packet, row.tid == 0 ? PB_TRACK_PROCESS : PB_TRACK_THREAD);
    protobuf_put_u64(packet, row.tid == 0 ? PB_PROCESS_PID : PB_THREAD_PID, row.pid);
    if (row.tid != 0)
        protobuf_put_u64(packet, PB_THREAD_TID, row.tid);
    protobuf_end(packet, message);
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}

#define GPUS_MOST 1024 /* a device of a larger number is none */

static int number_of(const cJSON *device, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(device, key);
    return cJSON_IsNumber(value) ? value->valueint : -1;
}

/* By compute capability. NULL: newer than this list. */
static const char *architecture(int major, int minor)
{
    static const struct {
        int major, minor; /* from here on */
        const char *name;
    } names[] = {{13, 0, NULL},    {10, 0, "Blackwell"}, {9, 0, "Hopper"}, {8, 9, "Ada"},     {8, 0, "Ampere"},
                 {7, 5, "Turing"}, {7, 0, "Volta"},      {6, 0, "Pascal"}, {5, 0, "Maxwell"}, {3, 0, "Kepler"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (major > names[i].major || (major == names[i].major && minor >= names[i].minor))
            return names[i].name;
    return NULL;
}

/* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" as bytes, which Perfetto shows as digits. */
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

static void put_fact(struct pftrace_state *state, const char *key, const char *value)
{
    size_t fact = protobuf_begin(&state->body, PB_GPU_EXTRA_INFO);
    put_text(state, PB_GPU_EXTRA_KEY, key);
    put_text(state, PB_GPU_EXTRA_VALUE, value);
    protobuf_end(&state->body, fact);
}

/* All else that is known of a device. */
static void put_facts(struct pftrace_state *state, const cJSON *device)
{
    for (const cJSON *value = device->child; value; value = value->next) {
        char text[32];
        if (!cJSON_IsNumber(value) || strcmp(value->string, "id") == 0)
            continue;
        snprintf(text, sizeof(text), "%.15g", value->valuedouble);
        put_fact(state, value->string, text);
    }
}

/* NULL: there is no device of the number; Perfetto counts GPUs from 0. */
static void put_gpu(struct pftrace_state *state, const cJSON *device)
{
    size_t gpu = protobuf_begin(&state->body, PB_GPU_INFO_GPUS);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "name"));
    const char *uuid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "uuid"));
    const char *sort = architecture(number_of(device, "computeMajor"), number_of(device, "computeMinor"));
    if (name)
        put_text(state, PB_GPU_NAME, name);
    if (device)
        put_text(state, PB_GPU_VENDOR, "NVIDIA");
    if (sort)
        put_text(state, PB_GPU_ARCHITECTURE, sort);
    if (uuid)
        put_uuid(&state->body, uuid);
    if (device)
        put_facts(state, device);
    protobuf_end(&state->body, gpu);
}

/* Of several devices of one number the first, as of processes that see different GPUs. */
static const cJSON *find_device(const cJSON *devices, int id)
{
    const cJSON *device;
    cJSON_ArrayForEach(device, devices) if (number_of(device, "id") == id) return device;
    return NULL;
}

static int count_gpus(const cJSON *devices)
{
    const cJSON *device;
    int count = 0;
    cJSON_ArrayForEach(device, devices)
    {
        int id = number_of(device, "id");
        count = id >= count && id < GPUS_MOST ? id + 1 : count;
    }
    return count;
}

void pftrace_write_gpus(struct sink *sink, const char *value, size_t size)
{
    struct pftrace_state *state = sink->state;
    cJSON *devices = cJSON_ParseWithLength(value, size);
    int count = cJSON_IsArray(devices) ? count_gpus(devices) : 0;
    state->body.length = 0;
    size_t info = protobuf_begin(&state->body, PB_PACKET_GPU_INFO);
    for (int id = 0; id < count; id++)
        put_gpu(state, find_device(devices, id));
    protobuf_end(&state->body, info);
    if (count > 0)
        pftrace_plain_packet(sink->buffer, &state->body);
    cJSON_Delete(devices);
}
