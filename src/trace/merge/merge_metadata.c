/*
 * Joins the metadata of all traces. The first reading stored each trace's metadata in a file, from which it is loaded
 * trace by trace, in the order of ranks.
 *
 * The objects "gputrace" of all traces become one: losses are summed, processes and other lists are concatenated,
 * objects get the members of all. Of other values the first trace's is used; "host" and "exit" are written only if they
 * are equal in all traces.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/memory.h"
#include "trace/cut.h"
#include "trace/json/text.h"
#include "trace/merge/merge_processes.h"

/* Limits, as readers hold all metadata in memory. */
#define LIST_BYTES_MOST ((size_t)8 << 20)
#define PROCESSES_BYTES_MOST ((size_t)32 << 20)

struct member {
    char *key; /* escaped for JSON */
    enum { VALUE, LIST, OBJECT, LOSSES, PROCESSES } kind;
    struct buffer text; /* in memory: a value, or the inside of a list or object */
    struct map known;   /* hashes of an object's keys; for LOSSES -> index in `losses` + 1 */
    bool differs;       /* two traces have different values */
};

struct merge_own {
    const struct merge *merge;
    ARRAY(struct member) members;
    ARRAY(struct loss {
        char *key;
        uint64_t count;
    })
    losses;
};

/* Members of "gputrace" that are not copied: the output has its own, or they belong to an earlier merge. */
static const char *const left_out[] = {"version", "ranks", "merged", "clock", "frames", "stacks", "processes_left_out",
                                       NULL};
/* Keys that are not copied: the output has its own, and distributedInfo is of one rank. */
static const char *const special[] = {"gputrace",  "deviceProperties",    "stackFrames", "distributedInfo",
                                      "traceName", "baseTimeNanoseconds", CUT_KEY,       NULL};

static bool is_one_of(struct json_text key, const char *const *words)
{
    while (*words && !json_is(key, *words))
        words++;
    return *words != NULL;
}

static int kind_of(struct json_text key, struct json_text value)
{
    struct json_text first;
    const char *at = value.at + 1, *end = value.at + value.length;
    if (json_is(key, "losses") && *value.at == '{')
        return LOSSES;
    if (json_is(key, "processes"))
        return PROCESSES;
    if (*value.at == '{')
        return OBJECT;
    if (*value.at != '[' || (json_element(&at, end, &first) && *first.at != '{'))
        return VALUE;
    return LIST;
}

static struct member *put_member(struct merge_own *own, struct json_text key, int kind)
{
    for (size_t i = 0; i < own->members.count; i++)
        if (json_is(key, own->members.items[i].key))
            return &own->members.items[i];
    struct member *member = array_push(&own->members);
    if (!member || !(member->key = strndup(key.at, key.length))) {
        error_no_memory("the trace's metadata");
        return NULL;
    }
    member->kind = kind;
    buffer_init_memory(&member->text);
    return member;
}

/* --- values --- */

static void begin_item(struct member *member, struct json_out *json)
{
    if (member->text.length > 0)
        buffer_char(&member->text, ',');
    json_out_init(json, &member->text, false);
}

static int add_losses(struct merge_own *own, struct member *member, struct json_text object)
{
    struct json_text key, value;
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, &value);) {
        struct loss *loss = PUT_ITEM(&own->losses, &member->known, hash_bytes(key.at, key.length));
        if (loss && !loss->key)
            loss->key = strndup(key.at, key.length);
        if (!loss || !loss->key)
            return error_no_memory("the trace's metadata");
        loss->count += strtoull(value.at, NULL, 10);
    }
    return 0;
}

static int add_object(const struct merge_remap *remap, struct member *member, struct json_text object)
{
    struct json_text key, value;
    for (const char *at = object.at + 1, *end = object.at + object.length; json_member(&at, end, &key, &value);) {
        bool is_new = false;
        if (member->text.length > LIST_BYTES_MOST)
            break;
        if (!map_put(&member->known, hash_bytes(key.at, key.length), &is_new))
            return error_no_memory("the trace's metadata");
        if (!is_new)
            continue;
        begin_item(member, remap->json);
        buffer_char(&member->text, '"');
        buffer_bytes(&member->text, key.at, key.length);
        buffer_text(&member->text, "\":");
        merge_put_value(remap, value);
    }
    return 0;
}

static void add_list(const struct merge_remap *remap, struct member *member, struct json_text list)
{
    struct json_text item;
    const char *at = list.at + 1, *end = list.at + list.length;
    while (member->text.length <= LIST_BYTES_MOST && json_element(&at, end, &item)) {
        begin_item(member, remap->json);
        merge_put_value(remap, item);
    }
}

static void add_processes(const struct merge_remap *remap, struct member *member, struct json_text list)
{
    struct buffer text;
    buffer_init_memory(&text);
    json_out_init(remap->json, &text, false);
    json_begin_array(remap->json);
    merge_put_processes(remap, list);
    json_end(remap->json);
    if (text.length > 2 && member->text.length + text.length < PROCESSES_BYTES_MOST) {
        if (member->text.length > 0)
            buffer_char(&member->text, ',');
        buffer_bytes(&member->text, text.data + 1, text.length - 2);
    }
    if (text.failure)
        member->text.failure = text.failure;
    buffer_release(&text);
}

static void add_value(struct member *member, struct json_text value)
{
    if (member->text.length == 0)
        buffer_bytes(&member->text, value.at, value.length);
    else if (member->text.length != value.length || memcmp(member->text.data, value.at, value.length) != 0)
        member->differs = true;
}

static int add_member(struct merge_own *own, const struct merge_remap *remap, struct json_text key,
                      struct json_text value)
{
    int kind = kind_of(key, value);
    struct member *member = put_member(own, key, kind);
    if (!member)
        return -1;
    if ((int)member->kind != kind)
        return 0;
    switch (kind) {
    case LOSSES: return add_losses(own, member, value);
    case OBJECT: return add_object(remap, member, value);
    case LIST: add_list(remap, member, value); break;
    case PROCESSES: add_processes(remap, member, value); break;
    default: add_value(member, value); break;
    }
    return 0;
}

/* Adds a trace's object "gputrace". TEXT is empty if the trace does not have it. Returns 0, or -1 after error(). */
static int merge_own_add(struct merge_own *own, const struct merge_trace *trace, struct json_text text,
                         const struct merge_stacks *stacks)
{
    struct json_out json;
    const struct merge_remap remap = {.merge = own->merge, .trace = trace, .stacks = stacks, .json = &json};
    const struct json_text processes = {"processes", strlen("processes")};
    struct json_text key, value;
    bool told = false;
    const char *at = text.at + 1, *end = text.at + text.length;
    while (text.length > 0 && *text.at == '{' && json_member(&at, end, &key, &value)) {
        if (is_one_of(key, left_out))
            continue;
        told |= json_is(key, "processes") && *value.at == '[';
        if (add_member(own, &remap, key, value) != 0)
            return -1;
    }
    return told ? 0 : add_member(own, &remap, processes, (struct json_text){"[]", 2});
}

/* --- the object --- */

static void put_rank(const struct merge *merge, const struct merge_trace *trace, const struct merge_process *process,
                     struct json_out *json)
{
    const struct merge_host *host = &merge->hosts.items[process->host];
    json_begin_object(json);
    json_put_i64(json, "rank", process->rank);
    if (host->named)
        json_put_text(json, "host", host->name);
    json_put_text(json, "file", trace->input->name);
    if (host->clock.known) {
        json_put_i64(json, "offset_ns", host->clock.offset);
        json_key(json, "drift_ppm");
        json_double(json, host->clock.drift * 1e6, 6);
        if (host->clock.uncertainty >= 0) {
            json_key(json, "uncertainty_ns");
            json_double(json, host->clock.uncertainty, 0);
        }
    }
    json_end(json);
}

/* Writes the file of each rank, and how its clock was corrected. */
static void put_ranks(const struct merge_own *own, struct json_out *json)
{
    const struct merge *merge = own->merge;
    json_key_array(json, "ranks");
    for (size_t i = 0; i < merge->options->count; i++) {
        const struct merge_trace *trace = &merge->traces[i];
        struct map put = {0};
        bool is_new = true;
        for (size_t k = 0; k < trace->processes.count; k++) {
            const struct merge_process *process = &trace->processes.items[k];
            if (!merge_is_program(process) || process->rank == MERGE_NO_RANK ||
                !map_put(&put, (uint64_t)process->rank, &is_new) || !is_new)
                continue;
            put_rank(merge, trace, process, json);
        }
        map_release(&put);
    }
    json_end(json);
}

static void put_text(const struct member *member, struct json_out *json)
{
    json_key_raw(json, member->key, strlen(member->key));
    if (member->kind == VALUE) {
        json_raw(json, member->text.data, member->text.length);
        return;
    }
    if (member->kind == OBJECT)
        json_begin_object(json);
    else
        json_begin_array(json);
    if (member->text.length > 0)
        buffer_bytes(json->buffer, member->text.data, member->text.length);
    json_end(json);
}

/* Appends the joined object to OUT. Returns 0, or -1 after error(). */
static int merge_own_put(struct merge_own *own, struct buffer *out)
{
    struct json_out json;
    json_out_init(&json, out, false);
    json_begin_object(&json);
    json_put_text(&json, "version", GPUTRACE_VERSION);
    json_put_u64(&json, "merged", own->merge->options->count);
    for (size_t i = 0; i < own->members.count; i++) {
        const struct member *member = &own->members.items[i];
        bool of_all = strcmp(member->key, "host") == 0 || strcmp(member->key, "exit") == 0;
        if (member->text.failure)
            return error_no_memory("the trace's metadata");
        if (member->kind == LOSSES) {
            json_key_object(&json, "losses");
            for (size_t k = 0; k < own->losses.count; k++) {
                json_key_raw(&json, own->losses.items[k].key, strlen(own->losses.items[k].key));
                json_u64(&json, own->losses.items[k].count);
            }
            json_end(&json);
        } else if (!member->differs || !of_all) {
            put_text(member, &json);
        }
    }
    put_ranks(own, &json);
    json_end(&json);
    return out->failure ? error_no_memory("the trace's metadata") : 0;
}

/* --- one trace --- */

static int load(const struct merge *merge, const struct merge_trace *trace, struct buffer *metadata)
{
    metadata->length = 0;
    if (trace->stored_size == 0)
        return 0;
    char *space = buffer_reserve(metadata, trace->stored_size);
    if (!space)
        return error_no_memory("the trace's metadata");
    buffer_advance(metadata, trace->stored_size);
    return file_read_at(merge->store, space, trace->stored_size, trace->stored)
               ? 0
               : error("cannot read a temporary file in '%s': %m", temporary_directory());
}

/* Reads the key and value at *AT, and moves *AT behind them. Returns false at the end. */
static bool next_value(const struct buffer *metadata, size_t *at, const char **key, struct json_text *value)
{
    size_t size;
    if (*at >= metadata->length)
        return false;
    *key = metadata->data + *at;
    *at += strlen(*key) + 1;
    memcpy(&size, metadata->data + *at, sizeof(size));
    *at += sizeof(size);
    *value = (struct json_text){metadata->data + *at, size};
    *at += size;
    return true;
}

static struct json_text find_value(const struct buffer *metadata, const char *wanted)
{
    const char *key;
    struct json_text value;
    for (size_t at = 0; next_value(metadata, &at, &key, &value);)
        if (strcmp(key, wanted) == 0)
            return value;
    return (struct json_text){NULL, 0};
}

/* --- all traces --- */

struct joining {
    struct merge *merge;
    struct sink *sink;
    struct merge_stacks stacks;
    struct merge_own own;
    struct buffer devices, metadata; /* in memory */
    struct json_out json;            /* writes to `devices` */
    struct map devices_put;
    struct map keys; /* hashes of the keys that were written */
};

/* Writes all other keys of a trace that no trace before it has. */
static int write_others(struct joining *joining)
{
    const char *key;
    struct json_text value;
    for (size_t at = 0; next_value(&joining->metadata, &at, &key, &value);) {
        bool is_new = false;
        if (is_one_of((struct json_text){key, strlen(key)}, special))
            continue;
        if (!map_put(&joining->keys, hash_bytes(key, strlen(key)), &is_new))
            return error_no_memory("the trace's metadata");
        if (is_new)
            joining->sink->format->metadata(joining->sink, key, value.at, value.length);
    }
    return 0;
}

static int add_trace(struct joining *joining, struct merge_trace *trace)
{
    struct merge_stacks *stacks = &joining->stacks;
    if (load(joining->merge, trace, &joining->metadata) != 0 || write_others(joining) != 0 ||
        merge_stacks_add(stacks, find_value(&joining->metadata, "stackFrames")) != 0)
        return -1;
    trace->stack_count = stacks->numbers.count;
    if (merge_store(joining->merge, stacks->numbers.items, trace->stack_count * sizeof(*stacks->numbers.items),
                    &trace->stacks) != 0)
        return -1;
    if (merge_put_devices(joining->merge, trace, find_value(&joining->metadata, "deviceProperties"),
                          &joining->devices_put, &joining->json) != 0)
        return error_no_memory("GPUs");
    return merge_own_add(&joining->own, trace, find_value(&joining->metadata, "gputrace"), &joining->stacks);
}

static void write_name_and_base(const struct merge *merge, struct sink *sink)
{
    struct buffer text;
    struct json_out json;
    buffer_init_memory(&text);
    json_out_init(&json, &text, false);
    json_u64(&json, merge->base);
    if (!text.failure)
        sink->format->metadata(sink, "baseTimeNanoseconds", text.data, text.length);
    text.length = 0;
    json_out_init(&json, &text, false);
    json_string(&json, merge->options->output);
    if (!text.failure)
        sink->format->metadata(sink, "traceName", text.data, text.length);
    buffer_release(&text);
}

/* Writes CUT_KEY, if only a part is merged. Returns 0, or -1 after error(). */
static int write_part(const struct merge *merge, struct sink *sink)
{
    const struct filter_options *part = &merge->options->part;
    const struct merge_input *inputs = merge->options->inputs, *last = &inputs[merge->options->count - 1];
    struct buffer text;
    int64_t times[2];
    char names[2 * PATH_MAX];
    if (!filter_wanted(part))
        return 0;
    const struct trace_times *whole = &merge->program;
    snprintf(names, sizeof(names), "%s%s%s", inputs->name, last > inputs ? "' to '" : "",
             last > inputs ? last->name : "");
    if (time_bounds_resolve(&part->from, &part->to, names, NULL, whole->first, whole->last, times) < 0)
        return -1;
    buffer_init_memory(&text);
    cut_describe(part, times[0] - whole->first, times[1] - whole->first, (uint64_t)(whole->last - whole->first), &text);
    int failure = text.failure;
    if (!failure)
        sink->format->metadata(sink, CUT_KEY, text.data, text.length);
    buffer_release(&text);
    return failure ? error_no_memory("the trace's metadata") : 0;
}

static int write_joined(struct joining *joining)
{
    struct merge *merge = joining->merge;
    struct sink *sink = joining->sink;
    struct buffer *frames = &joining->stacks.frames, own;
    if (joining->devices.failure || frames->failure)
        return error_no_memory("the trace's metadata");
    sink->format->metadata(sink, "deviceProperties", joining->devices.data, joining->devices.length);
    write_name_and_base(merge, sink);
    if (frames->length > 0) {
        buffer_char(frames, '}');
        frames->data[0] = '{';
        sink->format->metadata(sink, "stackFrames", frames->data, frames->length);
    }
    if (joining->stacks.full)
        warning("'%s': call stacks are left out, as the traces have more than readers can hold",
                merge->options->output);
    buffer_init_memory(&own);
    int result = merge_own_put(&joining->own, &own);
    if (result == 0)
        sink->format->metadata(sink, "gputrace", own.data, own.length);
    buffer_release(&own);
    return result == 0 ? write_part(merge, sink) : result;
}

int merge_write_metadata(struct merge *merge, struct sink *sink)
{
    struct joining joining = {.merge = merge, .sink = sink, .own.merge = merge};
    int result = 0;
    buffer_init_memory(&joining.devices);
    buffer_init_memory(&joining.metadata);
    buffer_init_memory(&joining.stacks.frames);
    json_out_init(&joining.json, &joining.devices, false);
    json_begin_array(&joining.json);
    for (size_t i = 0; i < merge->options->count && result == 0; i++)
        result = add_trace(&joining, &merge->traces[i]);
    json_end(&joining.json);
    result = result ?: write_joined(&joining);

    for (size_t i = 0; i < joining.own.members.count; i++) {
        free(joining.own.members.items[i].key);
        buffer_release(&joining.own.members.items[i].text);
        map_release(&joining.own.members.items[i].known);
    }
    for (size_t i = 0; i < joining.own.losses.count; i++)
        free(joining.own.losses.items[i].key);
    array_release(&joining.own.losses);
    array_release(&joining.own.members);
    merge_stacks_release(&joining.stacks);
    buffer_release(&joining.devices);
    buffer_release(&joining.metadata);
    map_release(&joining.devices_put);
    map_release(&joining.keys);
    return result;
}
