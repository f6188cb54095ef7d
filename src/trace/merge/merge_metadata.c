/*
 * Metadata of all traces together. That of each trace was put into a file when the trace was read, and comes back one
 * after another, in the order of ranks.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/memory.h"
#include "trace/cut.h"
#include "trace/json/text.h"
#include "trace/merge/merge_parts.h"

int merge_store(struct merge *merge, const void *bytes, size_t size, uint64_t *at)
{
    *at = merge->stored;
    merge->stored += size;
    if (size > 0 && !file_write_at(merge->store, bytes, size, *at))
        return error("cannot write a temporary file in '%s': %m", temporary_directory());
    return 0;
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

/* The value that is at *AT, and what is behind it. */
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

/* --- all of them --- */

struct joining {
    struct merge *merge;
    struct sink *sink;
    struct merge_stacks stacks;
    struct merge_own *own;
    struct buffer devices, metadata; /* in memory */
    struct json_out json;            /* of devices */
    struct map devices_put;
    struct map keys; /* that were written, hashes */
};

/* Keys that the output has of its own, and the ranks of a single trace. */
static bool is_special(const char *key)
{
    static const char *const words[] = {"gputrace",  "deviceProperties",    "stackFrames", "distributedInfo",
                                        "traceName", "baseTimeNanoseconds", CUT_KEY};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(key, words[i]) == 0)
            return true;
    return false;
}

/* Of other keys the first trace's value counts. */
static int write_others(struct joining *joining)
{
    const char *key;
    struct json_text value;
    for (size_t at = 0; next_value(&joining->metadata, &at, &key, &value);) {
        bool is_new = false;
        if (is_special(key))
            continue;
        if (!map_put(&joining->keys, hash_bytes(key, strlen(key)), &is_new))
            return error_no_memory("the trace's metadata");
        if (is_new)
            joining->sink->format->metadata(joining->sink, key, value.at, value.length);
    }
    return 0;
}

static int add_stacks(struct joining *joining, struct merge_trace *trace)
{
    struct merge_stacks *stacks = &joining->stacks;
    if (merge_stacks_add(stacks, find_value(&joining->metadata, "stackFrames")) != 0)
        return -1;
    trace->stack_count = stacks->numbers.count;
    return merge_store(joining->merge, stacks->numbers.items, stacks->numbers.count * sizeof(*stacks->numbers.items),
                       &trace->stacks);
}

static int add_trace(struct joining *joining, struct merge_trace *trace)
{
    if (load(joining->merge, trace, &joining->metadata) != 0 || write_others(joining) != 0 ||
        add_stacks(joining, trace) != 0)
        return -1;
    if (merge_put_devices(joining->merge, trace, find_value(&joining->metadata, "deviceProperties"),
                          &joining->devices_put, &joining->json) != 0)
        return error_no_memory("GPUs");
    return merge_own_add(joining->own, trace, find_value(&joining->metadata, "gputrace"), &joining->stacks);
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

/* What was cut, as trace/cut says it. */
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
    int result = merge_own_put(joining->own, &own);
    if (result == 0)
        sink->format->metadata(sink, "gputrace", own.data, own.length);
    buffer_release(&own);
    return result == 0 ? write_part(merge, sink) : result;
}

int merge_write_metadata(struct merge *merge, struct sink *sink)
{
    struct joining joining = {.merge = merge, .sink = sink, .own = merge_own_new(merge)};
    int result = joining.own ? 0 : -1;
    buffer_init_memory(&joining.devices);
    buffer_init_memory(&joining.metadata);
    buffer_init_memory(&joining.stacks.frames);
    json_out_init(&joining.json, &joining.devices, false);
    json_begin_array(&joining.json);
    for (size_t i = 0; i < merge->options->count && result == 0; i++)
        result = add_trace(&joining, &merge->traces[i]);
    json_end(&joining.json);
    result = result ?: write_joined(&joining);
    merge_own_free(joining.own);
    merge_stacks_release(&joining.stacks);
    buffer_release(&joining.devices);
    buffer_release(&joining.metadata);
    map_release(&joining.devices_put);
    map_release(&joining.keys);
    return result;
}
