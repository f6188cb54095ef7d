/*
 * Names and arguments of NVTX's events, and what topics of NVTX have in common where they are written.
 */
#include "trace/meaning/nvtx/nvtx_describe.h"

#include "common/json_out.h"
#include "common/memory.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/nvtx/payload_json.h"
#include "trace/meaning/nvtx/payload_view.h"
#include "trace/spool/agent_records.h"

bool describe_nvtx_domain(struct args *args, const struct nvtx *nvtx, uint32_t domain)
{
    struct nvtx_text name = nvtx_domain_name(nvtx, domain);
    if (name.text)
        args_text(args, ARG_DOMAIN, name.text, name.length);
    return name.text != NULL;
}

void describe_nvtx_category(struct args *args, const struct nvtx *nvtx, uint32_t domain, uint32_t category, bool is_set)
{
    struct nvtx_text name = nvtx_category_name(nvtx, domain, category);
    if (name.text)
        args_text(args, ARG_CATEGORY, name.text, name.length);
    else if (is_set)
        args_u64(args, ARG_CATEGORY, category);
}

struct name nvtx_message_name(struct nvtx_text message)
{
    static const char none[] = "(no message)";
    return message.length ? name_passing(message.text, message.length) : name_passing(none, sizeof(none) - 1);
}

struct row nvtx_thread_row(struct process *process, uint32_t thread)
{
    const struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    return track ? (struct row){track->pid, track->tids[0]} : (struct row){process->pid, process->pid};
}

/* --- payloads --- */

/* Payloads are put together from their copies when they are written. */
static void put_payload(struct buffer *buffer, const struct arg_json *arg)
{
    struct payload_view view;
    struct json_out json;
    json_out_init(&json, buffer, false);
    payload_view_open(&view, arg->context, arg->domain, arg->number);
    payload_put(&view, &json, arg->stride, arg->index);
}

void describe_nvtx_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key, const struct arg_json *payload)
{
    struct payload_view view;
    payload_view_open(&view, nvtx, payload->domain, payload->number);
    if (payload_view_shown(&view) == 0)
        return;
    struct arg *arg = args_add(args, key, ARG_TYPE_JSON);
    arg->json = *payload;
    arg->json.put = put_payload;
    arg->json.context = nvtx;
    struct nvtx_text schema = payload_view_schema(&view);
    if (schema.text && key == ARG_PAYLOAD)
        args_text(args, ARG_SCHEMA, schema.text, schema.length);
}

static void describe_payload(struct args *args, const struct nvtx *nvtx, enum arg_key key, const struct event *event)
{
    uint64_t bits = event->nvtx.payload;
    uint32_t low = (uint32_t)bits;
    switch (event->nvtx.payload_type) { /* nvtxPayloadType_t */
    case 1: args_u64(args, key, bits); break;
    case 2: args_i64(args, key, (int64_t)bits); break;
    case 3: args_real(args, key, ARG_TYPE_REAL, LOAD(double, &bits)); break;
    case 4: args_u64(args, key, low); break;
    case 5: args_i64(args, key, (int32_t)low); break;
    case 6: args_real(args, key, ARG_TYPE_REAL, (double)LOAD(float, &low)); break;
    case SPOOL_NVTX_PAYLOAD_PIECES:
        describe_nvtx_payload(args, nvtx, key, &(struct arg_json){.number = bits, .domain = event->nvtx.domain});
        break;
    default: break;
    }
}

/* --- events --- */

void describe_nvtx_event(struct args *args, const struct nvtx *nvtx, const struct event *event)
{
    uint32_t domain = event->nvtx.domain, category = event->nvtx.category;
    if (!describe_nvtx_domain(args, nvtx, domain) && domain != 0)
        args_u64(args, ARG_DOMAIN, domain);
    describe_nvtx_category(args, nvtx, domain, category, category != 0);
    if (event->nvtx.color_type == 1)
        args_add(args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = event->nvtx.color;
    describe_payload(args, nvtx, ARG_PAYLOAD, event);
}

/* EVENT becomes the push or start of a range, with what END, the pop or end that has payloads, replaces in it. */
static void read_range(struct event *event, struct event *end, const struct nvtx_range *range)
{
    *event = agent_read(range->record, range->thread);
    if (!range->end_record)
        return;
    *end = agent_read(range->end_record, range->end_thread);
    if (end->text_length > 0 || end->nvtx.string != 0) {
        event->text = end->text;
        event->text_length = end->text_length;
        event->nvtx.string = end->nvtx.string;
    }
    if (end->nvtx.color_type != 0) {
        event->nvtx.color_type = end->nvtx.color_type;
        event->nvtx.color = end->nvtx.color;
    }
    if (end->nvtx.category != 0)
        event->nvtx.category = end->nvtx.category;
}

struct name nvtx_range_name(const struct nvtx *nvtx, const struct nvtx_range *range)
{
    struct event event, end;
    read_range(&event, &end, range);
    return nvtx_message_name(nvtx_message(nvtx, &event));
}

struct name describe_nvtx_range(struct args *args, const struct nvtx *nvtx, const struct nvtx_range *range, bool shown)
{
    struct event event, end;
    args->count = 0;
    read_range(&event, &end, range);
    describe_nvtx_event(args, nvtx, &event);
    if (range->end_record && shown)
        describe_payload(args, nvtx, ARG_END_PAYLOAD, &end);
    if (range->open_at_end && shown)
        args_add(args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    return nvtx_message_name(nvtx_message(nvtx, &event));
}
