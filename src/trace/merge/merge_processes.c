/*
 * Writes the metadata of processes and GPUs with the numbers and times of the output. Everything else in it is copied
 * byte by byte. Joins the call stacks of all traces to one tree: equal frames with equal callers become one frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/json/text.h"
#include "trace/merge/merge_numbers.h"
#include "trace/merge/merge_processes.h"

/* The most bytes of frames in the metadata, as readers hold it in memory. Further stacks are left out. */
#define FRAMES_BYTES_MOST ((size_t)16 << 20)
#define FRAMES_MOST 512 /* the most frames of a stack: parents in a damaged file may form a circle */

/* A frame of the current trace. */
struct frame {
    uint32_t number, parent;
    struct json_text text;
    uint32_t new_number; /* 0: not set yet */
};

struct adding {
    struct merge_stacks *stacks;
    ARRAY(struct frame) frames; /* sorted by number */
    struct buffer text;
};

static bool read_number(struct json_text text, uint32_t *number)
{
    uint64_t value = 0;
    if (text.length > 0 && json_is_string(text))
        text = (struct json_text){text.at + 1, text.length - 2};
    bool fits = json_integer(text, &value) && value > 0 && value < UINT32_MAX;
    *number = fits ? (uint32_t)value : 0;
    return fits;
}

ORDER_BY(by_number, struct frame, number)

static int read_frames(struct adding *adding, struct json_text tree)
{
    struct json_text key, value;
    if (tree.length < 2 || *tree.at != '{')
        return 0;
    for (const char *at = tree.at + 1, *end = tree.at + tree.length; json_member(&at, end, &key, &value);) {
        struct frame frame = {.text = value};
        if (*value.at != '{' || !read_number(key, &frame.number))
            continue;
        read_number(json_find(value, "parent"), &frame.parent);
        if (!ADD(array_push, &adding->frames, frame))
            return error_no_memory("call stacks");
    }
    if (adding->frames.count > 0)
        qsort(adding->frames.items, adding->frames.count, sizeof(*adding->frames.items), by_number);
    return 0;
}

/* Writes the members of FRAME without its parent, separated by commas. */
static void put_members(struct buffer *out, const struct frame *frame)
{
    struct json_text key, value;
    const char *end = frame->text.at + frame->text.length;
    out->length = 0;
    for (const char *at = frame->text.at + 1; json_member(&at, end, &key, &value);) {
        if (json_is(key, "parent"))
            continue;
        buffer_text(out, out->length > 0 ? ",\"" : "\"");
        buffer_bytes(out, key.at, key.length);
        buffer_text(out, "\":");
        buffer_bytes(out, value.at, value.length);
    }
}

static int put_frame(struct adding *adding, struct frame *frame, uint32_t parent)
{
    struct merge_stacks *stacks = adding->stacks;
    struct buffer *frames = &stacks->frames;
    bool is_new;
    put_members(&adding->text, frame);
    if (adding->text.failure)
        return error_no_memory("call stacks");
    const uint64_t key[] = {parent, hash_bytes(adding->text.data, adding->text.length)};
    uint64_t hash = hash_bytes(key, sizeof(key)), *number = map_get(&stacks->known, hash);
    if (!number && frames->length > FRAMES_BYTES_MOST) {
        stacks->full = true;
        return 0;
    }
    if (!(number = map_put(&stacks->known, hash, &is_new)))
        return error_no_memory("call stacks");
    if (is_new) {
        *number = map_count(&stacks->known);
        buffer_format(frames, ",\"%u\":{", (uint32_t)*number);
        buffer_bytes(frames, adding->text.data, adding->text.length);
        if (parent != 0)
            buffer_format(frames, "%s\"parent\":%u", adding->text.length > 0 ? "," : "", parent);
        buffer_char(frames, '}');
    }
    frame->new_number = (uint32_t)*number;
    return 0;
}

/* Adds a frame after its callers. Returns 0, or -1 after error(). */
static int add_frame(struct adding *adding, struct frame *frame, unsigned depth)
{
    struct frame *frames = adding->frames.items; /* FRAME is one of these */
    size_t count = adding->frames.count, place = COUNT_BEFORE(count, i, frames[i].number < frame->parent);
    bool has_parent = frame->parent != 0 && place < count && frames[place].number == frame->parent;
    struct frame *parent = has_parent ? &frames[place] : NULL;
    if (frame->new_number != 0 || depth > FRAMES_MOST)
        return 0;
    if (parent && add_frame(adding, parent, depth + 1) != 0)
        return -1;
    return parent && parent->new_number == 0 ? 0 : put_frame(adding, frame, parent ? parent->new_number : 0);
}

int merge_stacks_add(struct merge_stacks *stacks, struct json_text text)
{
    struct adding adding = {.stacks = stacks};
    buffer_init_memory(&adding.text);
    stacks->numbers.count = 0;
    int result = read_frames(&adding, text);
    for (size_t i = 0; i < adding.frames.count && result == 0; i++) {
        struct frame *frame = &adding.frames.items[i];
        result = add_frame(&adding, frame, 0);
        const struct merge_stack number = {frame->number, frame->new_number};
        if (result == 0 && number.new_number != 0 && !ADD(array_push, &stacks->numbers, number))
            result = error_no_memory("call stacks");
    }
    array_release(&adding.frames);
    buffer_release(&adding.text);
    return result;
}

void merge_stacks_release(struct merge_stacks *stacks)
{
    map_release(&stacks->known);
    buffer_release(&stacks->frames);
    array_release(&stacks->numbers);
}

uint32_t merge_stacks_find(const struct merge_stack *numbers, size_t count, uint64_t number)
{
    size_t place = COUNT_BEFORE(count, i, numbers[i].number < number);
    return place < count && numbers[place].number == number ? numbers[place].new_number : 0;
}

#define DEPTH_MOST (JSON_DEPTH_MAX - 4) /* deeper values are copied */

/* Returns VALUE if it is an integer and not negative, else NONE. */
static int64_t number_of(struct json_text value, int64_t none)
{
    uint64_t number;
    return json_integer(value, &number) ? (int64_t)number : none;
}

/* What a member of the metadata refers to. MOMENT is microseconds since the trace's base, TIME ns of the host's clock.
 * A process's correlation ids count from its OFFSET. */
enum member { PID, DEVICE, STACK, MOMENT, TIME, OFFSET, GPU_PIDS };

/* Writes VALUE as a number of the output. Returns false if VALUE must be copied. */
static bool put_number(const struct merge_remap *remap, enum member member, struct json_text value)
{
    const struct merge_trace *trace = remap->trace;
    const struct merge_stacks *stacks = remap->stacks;
    const struct merge_process *process;
    int64_t number = number_of(value, -1), ns = 0;
    switch (member) {
    case PID:
        process = number >= 0 && number <= UINT32_MAX ? merge_process_get(trace, (uint32_t)number) : NULL;
        if (process)
            json_u64(remap->json, process->new_pid);
        return process != NULL;
    case DEVICE:
        if (number >= 0)
            json_i64(remap->json, merge_device_new(trace, number));
        return number >= 0;
    case STACK:
        json_u64(remap->json,
                 merge_stacks_find(stacks->numbers.items, stacks->numbers.count, number < 0 ? 0 : (uint64_t)number));
        return true;
    case MOMENT:
        if (!json_exact_ns(value, &ns) || ns < 0)
            return false;
        json_us(remap->json,
                (int64_t)(merge_time(remap->merge, remap->process, trace->base + (uint64_t)ns) - remap->merge->base));
        return true;
    case TIME:
        ns = value.length > 18 ? (int64_t)strtoull(value.at, NULL, 10) : 0;
        if (ns != 0)
            json_u64(remap->json, merge_time(remap->merge, remap->process, (uint64_t)ns));
        return ns != 0;
    case OFFSET:
        json_i64(remap->json, (number < 0 ? 0 : number) + (int64_t)trace->flows.first - (int64_t)trace->flows.least);
        return true;
    default: return false;
    }
}

static void put_device_key(const struct merge_remap *remap, int64_t device)
{
    char key[24];
    snprintf(key, sizeof(key), "%lld", (long long)merge_device_new(remap->trace, device));
    json_key(remap->json, key);
}

/* Members whose values are or contain numbers of the trace. */
static const struct {
    const char *key;
    enum member member;
} members[] = {
    {"pid", PID},           {"parent_pid", PID}, {"device", DEVICE}, {"stack", STACK},
    {"ts", MOMENT},         {"started", TIME},   {"finished", TIME}, {"correlation_offset", OFFSET},
    {"gpu_pids", GPU_PIDS},
};
#define MEMBERS (sizeof(members) / sizeof(*members))

static void put_member(const struct merge_remap *remap, struct json_text key, struct json_text value)
{
    struct json_text device, row;
    bool nested = *value.at == '{' || *value.at == '[';
    size_t i = 0;
    json_key_raw(remap->json, key.at, key.length);
    while (i < MEMBERS && !json_is(key, members[i].key))
        i++;
    if (i < MEMBERS && members[i].member == GPU_PIDS && *value.at == '{') {
        json_begin_object(remap->json);
        for (const char *at = value.at + 1, *end = value.at + value.length; json_member(&at, end, &device, &row);) {
            put_device_key(remap, number_of(device, 0));
            if (!put_number(remap, PID, row))
                json_raw(remap->json, row.at, row.length);
        }
        json_end(remap->json);
    } else if (nested || i == MEMBERS || !put_number(remap, members[i].member, value)) {
        merge_put_value(remap, value);
    }
}

void merge_put_value(const struct merge_remap *remap, struct json_text value)
{
    struct json_text key, item;
    const char *at = value.at + 1, *end = value.at + value.length;
    if (remap->json->depth >= DEPTH_MOST) {
        json_raw(remap->json, value.at, value.length);
    } else if (*value.at == '{') {
        json_begin_object(remap->json);
        while (json_member(&at, end, &key, &item))
            put_member(remap, key, item);
        json_end(remap->json);
    } else if (*value.at == '[') {
        json_begin_array(remap->json);
        while (json_element(&at, end, &item))
            merge_put_value(remap, item);
        json_end(remap->json);
    } else {
        json_raw(remap->json, value.at, value.length);
    }
}

/* --- processes --- */

static void put_rank(const struct merge_remap *remap)
{
    const struct merge_process *process = remap->process;
    const struct merge_host *host = &remap->merge->hosts.items[process->host];
    if (process->rank != MERGE_NO_RANK)
        json_put_i64(remap->json, "rank", process->rank);
    if (process->local_rank >= 0)
        json_put_i64(remap->json, "local_rank", process->local_rank);
    if (process->world_size >= 0)
        json_put_i64(remap->json, "world_size", process->world_size);
    if (host->named)
        json_put_text(remap->json, "host", host->name);
}

/* Writes a process as in the trace's metadata, except rank and host, which put_rank() writes. */
static void put_told(struct merge_remap *remap, struct json_text object)
{
    struct json_text key, value;
    json_begin_object(remap->json);
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, &value);)
        if (!json_is(key, "rank") && !json_is(key, "local_rank") && !json_is(key, "world_size") &&
            !json_is(key, "host"))
            put_member(remap, key, value);
    put_rank(remap);
    json_end(remap->json);
}

/* Writes a process that the trace's metadata does not list, as in traces of torch.profiler. */
static void put_untold(const struct merge_remap *remap)
{
    size_t programs = 0; /* if there is only one, rows of GPUs without an owner belong to it */
    for (size_t i = 0; i < remap->trace->processes.count; i++)
        programs += merge_is_program(&remap->trace->processes.items[i]);
    json_begin_object(remap->json);
    json_put_u64(remap->json, "pid", remap->process->new_pid);
    json_key_object(remap->json, "gpu_pids"); /* rows of GPUs with its operations */
    for (size_t i = 0; i < remap->trace->processes.count; i++) {
        const struct merge_process *gpu = &remap->trace->processes.items[i];
        bool owned = gpu->owner == remap->process->pid || (gpu->owner == 0 && programs == 1);
        if (!gpu->gpu || !gpu->has_row || !owned || gpu->device < 0)
            continue;
        put_device_key(remap, gpu->device);
        json_u64(remap->json, gpu->new_pid);
    }
    json_end(remap->json);
    put_rank(remap);
    json_end(remap->json);
}

void merge_put_processes(const struct merge_remap *given, struct json_text text)
{
    struct merge_remap remap = *given;
    const struct merge_trace *trace = given->trace;
    struct json_text item;
    struct map told = {0};
    const char *at = text.at + 1, *end = text.at + text.length;
    while (text.length > 0 && json_element(&at, end, &item)) {
        int64_t number = number_of(json_find(item, "pid"), -1);
        remap.process = number >= 0 ? merge_process_get(trace, (uint32_t)number) : NULL;
        if (!remap.process)
            continue;
        map_put(&told, (uint32_t)number, NULL);
        put_told(&remap, item);
    }
    for (size_t i = 0; i < trace->processes.count; i++) {
        remap.process = &trace->processes.items[i];
        bool host = remap.process->has_row && merge_is_program(remap.process) && remap.process->rank != MERGE_NO_RANK;
        if (host && !map_get(&told, remap.process->pid))
            put_untold(&remap);
    }
    map_release(&told);
}

/* --- GPUs --- */

static void put_properties(const struct merge *merge, const struct merge_trace *trace,
                           const struct merge_device *device, struct json_text object, struct json_out *json)
{
    const char *host = trace->processes.count > 0 ? merge->hosts.items[trace->processes.items[0].host].name : NULL;
    bool named = trace->processes.count > 0 && merge->hosts.items[trace->processes.items[0].host].named;
    struct json_text key, value;
    json_begin_object(json);
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, &value);) {
        json_key_raw(json, key.at, key.length);
        if (json_is(key, "id"))
            json_u64(json, device->new_id);
        else
            json_raw(json, value.at, value.length);
    }
    if (!device->host && named)
        json_put_text(json, "host", host);
    json_end(json);
}

int merge_put_devices(const struct merge *merge, const struct merge_trace *trace, struct json_text text,
                      struct map *put, struct json_out *json)
{
    struct json_text item;
    const char *at = text.at + 1, *end = text.at + text.length;
    if (text.length == 0 || *text.at != '[')
        return 0;
    while (json_element(&at, end, &item)) {
        int64_t number = number_of(json_find(item, "id"), -1);
        const struct merge_device *device = number >= 0 ? merge_device_get(trace, number) : NULL;
        bool is_new = false;
        if (!device || device->new_id == UINT32_MAX)
            continue;
        if (!map_put(put, device->new_id, &is_new))
            return -1;
        if (is_new)
            put_properties(merge, trace, device, item, json);
    }
    return 0;
}
