/*
 * NVTX: ranges on their threads and on the GPU's streams, started ranges, marks.
 */
#include "trace/build/nvtx_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/spool_records.h"
#include "trace/build/payload_json.h"
#include "trace/build/piece_writer.h"
#include "trace/build/projections.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/records.h"

static void add_payload(struct args *args, const struct event *event)
{
    uint64_t bits = event->nvtx.payload;
    uint32_t low = (uint32_t)bits;
    double real;
    float single;
    switch (event->nvtx.payload_type) { /* nvtxPayloadType_t */
    case 1: args_u64(args, ARG_PAYLOAD, bits); break;
    case 2: args_i64(args, ARG_PAYLOAD, (int64_t)bits); break;
    case 3:
        memcpy(&real, &bits, sizeof(real));
        args_real(args, ARG_PAYLOAD, ARG_TYPE_REAL, real);
        break;
    case 4: args_u64(args, ARG_PAYLOAD, low); break;
    case 5: args_i64(args, ARG_PAYLOAD, (int32_t)low); break;
    case 6:
        memcpy(&single, &low, sizeof(single));
        args_real(args, ARG_PAYLOAD, ARG_TYPE_REAL, (double)single);
        break;
    default: break;
    }
}

static void describe(struct args *args, const struct process *process, const struct event *event)
{
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, event->nvtx.domain);
    struct nvtx_text category = nvtx_category_name(process->nvtx, event->nvtx.domain, event->nvtx.category);
    if (domain.text)
        args_text(args, ARG_DOMAIN, domain.text, domain.length);
    else if (event->nvtx.domain != 0)
        args_u64(args, ARG_DOMAIN, event->nvtx.domain);
    if (category.text)
        args_text(args, ARG_CATEGORY, category.text, category.length);
    else if (event->nvtx.category != 0)
        args_u64(args, ARG_CATEGORY, event->nvtx.category);
    if (event->nvtx.color_type == 1)
        args_add(args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = event->nvtx.color;
    add_payload(args, event);
    describe_payload(args, process, event);
}

static struct name message(const struct process *process, const struct event *event)
{
    static const char none[] = "(no message)";
    struct nvtx_text text = nvtx_message(process->nvtx, event);
    return text.length ? name_passing(text.text, text.length) : name_passing(none, sizeof(none) - 1);
}

static void read_again(struct event *event, const void *record, uint32_t thread)
{
    struct own_walk walk;
    own_walk_at(&walk, record);
    own_decode(event, &walk, thread);
}

static void write_range(struct piece_writer *out, struct process *process, const struct nvtx_range *range)
{
    struct track *thread = piece_writer_track(out, process, TRACK_THREAD, 0, 0, range->thread);
    struct event event;
    struct args args;
    if (!thread)
        return;
    args.count = 0;
    read_again(&event, range->record, range->thread);
    merge_range_end(&event, range);
    describe(&args, process, &event);
    describe_range_end(&args, process, range);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    struct row row = track_row(thread, range->start, range->end);
    if (row.tid != range->thread) /* a further row of the thread */
        args_u64(&args, ARG_THREAD, range->thread);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = message(process, &event),
                          .row = row,
                          .start = range->start,
                          .end = range->end,
                          .args = &args};
    out->sink.format->slice(&out->sink, &slice);
}

static struct row thread_row(struct process *process, uint32_t thread)
{
    const struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    return track ? (struct row){track->pid, track->tids[0]} : (struct row){process->pid, process->pid};
}

static void write_started(struct piece_writer *out, struct process *process, const struct nvtx_range *range,
                          uint64_t id)
{
    struct event event;
    struct args args;
    args.count = 0;
    read_again(&event, range->record, range->thread);
    merge_range_end(&event, range);
    describe(&args, process, &event);
    describe_range_end(&args, process, range);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                .name = message(process, &event),
                                .begin = thread_row(process, range->thread),
                                .end_row = thread_row(process, range->end_thread),
                                .start = range->start,
                                .end = range->end,
                                .id = id,
                                .args = &args};
    out->sink.format->async(&out->sink, &slice);
}

/* In order of push: what encloses comes first. */
int write_nvtx_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        write_range(out, process, &process->nvtx->ranges.items[i]);
    return 0;
}

int write_nvtx_started(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        write_started(out, process, &process->nvtx->started.items[i], process->async_before + i + 1);
    return 0;
}

void write_projection(struct piece_writer *out, struct process *process, const struct projection *projection)
{
    const struct nvtx_range *range = nvtx_range(process->nvtx, projection->range);
    const struct track *stream = process->tracks.items.items[projection->track];
    struct track *track =
        piece_writer_track(out, process, TRACK_ANNOTATION, stream->device, stream->context, stream->number);
    struct event event;
    struct args args;
    if (!track)
        return;
    args.count = 0;
    read_again(&event, range->record, range->thread);
    merge_range_end(&event, range);
    describe(&args, process, &event);
    args_u64(&args, ARG_THREAD, range->thread);
    struct slice slice = {.category = CATEGORY_GPU_USER_ANNOTATION,
                          .name = message(process, &event),
                          .row = track_row(track, projection->start, projection->end),
                          .start = projection->start,
                          .end = projection->end,
                          .args = &args};
    out->sink.format->slice(&out->sink, &slice);
}

int write_nvtx_mark(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct args args;
    args.count = 0;
    describe(&args, process, event);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = message(process, event),
                          .row = thread_row(process, event->thread),
                          .start = event->start,
                          .args = &args};
    out->sink.format->instant(&out->sink, &slice);
    return 0;
}

/*
 * Payloads of NVTX events as arguments: put together from their pieces when they are written.
 */

struct payload_sources process_payload_sources(const struct process *process)
{
    return (struct payload_sources){.schemas = process->payload_schemas,
                                    .pieces = process->payload_copies,
                                    .scopes = process->nvtx_scopes,
                                    .nvtx = process->nvtx};
}

static void put_payload(struct buffer *buffer, const struct arg_json *arg)
{
    struct payload_sources sources = process_payload_sources(arg->context);
    struct payload_view view;
    struct json_out json;
    json_out_init(&json, buffer, false);
    payload_view_open(&view, &sources, arg->domain, arg->number);
    payload_view_put(&view, &json, arg->stride, arg->index);
}

void add_payload_args(struct args *args, const struct process *process, enum arg_key key,
                      const struct arg_json *payload)
{
    struct payload_sources sources = process_payload_sources(process);
    struct payload_view view;
    payload_view_open(&view, &sources, payload->domain, payload->number);
    if (payload_view_shown(&view) == 0)
        return;
    struct arg *arg = args_add(args, key, ARG_TYPE_JSON);
    arg->json = *payload;
    arg->json.put = put_payload;
    arg->json.context = process;
    struct payload_text schema = payload_view_schema(&view);
    if (schema.text && key == ARG_PAYLOAD)
        args_text(args, ARG_SCHEMA, schema.text, schema.length);
}

void describe_payload(struct args *args, const struct process *process, const struct event *event)
{
    if (event->nvtx.payload_type == SPOOL_NVTX_PAYLOAD_PIECES)
        add_payload_args(args, process, ARG_PAYLOAD,
                         &(struct arg_json){.number = event->nvtx.payload, .domain = event->nvtx.domain});
}

static bool read_end(struct event *event, const struct nvtx_range *range)
{
    struct own_walk walk;
    if (!range->end_record)
        return false;
    own_walk_at(&walk, range->end_record);
    own_decode(event, &walk, range->end_thread);
    return true;
}

void merge_range_end(struct event *event, const struct nvtx_range *range)
{
    struct event end;
    if (!read_end(&end, range))
        return;
    if (end.text_length > 0 || end.nvtx.string != 0) {
        event->text = end.text;
        event->text_length = end.text_length;
        event->nvtx.string = end.nvtx.string;
    }
    if (end.nvtx.color_type != 0) {
        event->nvtx.color_type = end.nvtx.color_type;
        event->nvtx.color = end.nvtx.color;
    }
    if (end.nvtx.category != 0)
        event->nvtx.category = end.nvtx.category;
}

void describe_range_end(struct args *args, const struct process *process, const struct nvtx_range *range)
{
    struct event end;
    if (read_end(&end, range))
        add_payload_args(args, process, ARG_END_PAYLOAD,
                         &(struct arg_json){.number = end.nvtx.payload, .domain = end.nvtx.domain});
}

/*
 * NVTX's resources in the metadata: what the program gave a name that has no row.
 */

static void put_text(struct json_out *json, const char *key, const char *text, size_t length)
{
    json_key(json, key);
    json_string_n(json, text, length);
}

static void put_hex(struct json_out *json, const char *key, uint64_t value)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
    put_text(json, key, text, (size_t)length);
}

static void put_type(struct json_out *json, uint32_t type)
{
    const char *name = nvtx_resource_type(type);
    json_key(json, "type");
    if (name)
        json_string(json, name);
    else
        json_u64(json, type);
}

/* A time in microseconds, as events have it. */
static void put_time(struct json_out *json, const char *key, uint64_t time, uint64_t base)
{
    if (time == 0)
        return;
    json_key(json, key);
    json_us(json, (int64_t)(time - base));
}

static void put_resource(struct json_out *json, const struct process *process, const struct nvtx_resource *resource,
                         uint64_t base)
{
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, resource->domain);
    json_begin_object(json);
    json_key(json, "pid");
    json_u64(json, process->pid);
    put_type(json, resource->type);
    if (resource->identifier)
        put_hex(json, "identifier", resource->identifier);
    if (resource->text)
        put_text(json, "name", resource->text, resource->length);
    if (domain.text)
        put_text(json, "domain", domain.text, domain.length);
    put_time(json, "created", resource->created, base);
    put_time(json, "destroyed", resource->destroyed, base);
    json_end(json);
}

static bool any(const struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (conversion_process(conversion, i)->nvtx->resources.items.count > 0)
            return true;
    return false;
}

void write_nvtx_resources(const struct conversion *conversion, struct json_out *json)
{
    if (!any(conversion))
        return;
    json_key(json, "nvtx_resources");
    json_begin_array(json);
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        for (size_t k = 0; k < process->nvtx->resources.items.count; k++)
            put_resource(json, process, &process->nvtx->resources.items.items[k], conversion->base);
    }
    json_end(json);
}

/*
 * Synchronisation objects of NVTX: a slice for each time that a thread waited for one, a range for each that it was
 * held.
 */

/* "holding NAME"; to be freed. NULL after error(). */
static char *name_of(const char *doing, const struct nvtx_resource *object, uint64_t number)
{
    char *text = NULL;
    int length = object && object->length
                     ? asprintf(&text, "%s %.*s", doing, (int)object->length, object->text)
                     : asprintf(&text, "%s synchronisation object %llu", doing, (unsigned long long)number);
    if (length >= 0)
        return text;
    error_no_memory("NVTX synchronisation");
    return NULL;
}

static void describe_resource(struct args *args, const struct process *process, const struct nvtx_resource *object,
                              bool open)
{
    struct nvtx_text domain = {NULL, 0};
    if (object)
        domain = nvtx_domain_name(process->nvtx, object->domain);
    if (domain.text)
        args_text(args, ARG_DOMAIN, domain.text, domain.length);
    if (open)
        args_add(args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
}

static int emit_wait(struct piece_writer *out, struct process *process, const struct nvtx_wait *wait)
{
    struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, wait->thread);
    const struct nvtx_resource *object = nvtx_resource(&process->nvtx->resources, wait->object);
    char *name = name_of("acquiring", object, wait->object);
    struct args args = {0};
    if (!name || !thread) {
        free(name);
        return name ? 0 : -1;
    }
    describe_resource(&args, process, object, wait->open_at_end);
    if (wait->failed)
        args_add(&args, ARG_FAILED, ARG_TYPE_TRUE);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = name_passing(name, strlen(name)),
                          .row = track_row(thread, wait->start, wait->end),
                          .start = wait->start,
                          .end = wait->end,
                          .args = &args};
    out->sink.format->slice(&out->sink, &slice);
    free(name);
    return 0;
}

static int write_hold(struct piece_writer *out, struct process *process, const struct nvtx_hold *hold, uint64_t id)
{
    const struct nvtx_resource *object = nvtx_resource(&process->nvtx->resources, hold->object);
    char *name = name_of("holding", object, hold->object);
    struct args args = {0};
    if (!name)
        return -1;
    describe_resource(&args, process, object, hold->open_at_end);
    struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                .name = name_passing(name, strlen(name)),
                                .begin = thread_row(process, hold->thread),
                                .end_row = thread_row(process, hold->end_thread),
                                .start = hold->start,
                                .end = hold->end,
                                .id = id,
                                .args = &args};
    out->sink.format->async(&out->sink, &slice);
    free(name);
    return 0;
}

int write_nvtx_syncs(struct piece_writer *out, struct process *process)
{
    const struct nvtx_syncs *syncs = &process->nvtx->syncs;
    for (size_t i = 0; i < syncs->waits.count; i++) {
        if (emit_wait(out, process, &syncs->waits.items[i]) != 0)
            return -1;
        piece_writer_passed(out, process);
    }
    uint64_t before = process->async_before + process->nvtx->started.count;
    for (size_t i = 0; i < syncs->holds.count; i++) {
        if (write_hold(out, process, &syncs->holds.items[i], before + i + 1) != 0)
            return -1;
        piece_writer_passed(out, process);
    }
    return 0;
}
