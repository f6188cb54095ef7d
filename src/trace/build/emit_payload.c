/*
 * Payloads of NVTX events as arguments: put together from their pieces when they are written.
 */
#include "common/json_out.h"
#include "common/sink.h"
#include "trace/build/conversion.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/spool/own.h"
#include "trace/build/payload_json.h"
#include "trace/spool/records.h"
#include "common/spool_records.h"

struct payload_sources process_payload_sources(const struct process *process)
{
    return (struct payload_sources){.schemas = &process->extensions.schemas,
                                    .pieces = &process->extensions.pieces,
                                    .scopes = &process->extensions.scopes,
                                    .nvtx = &process->nvtx};
}

static void put_payload(struct sink *sink, const struct arg_json *arg)
{
    struct payload_sources sources = process_payload_sources(arg->context);
    struct payload_view view;
    struct json_out json;
    json_out_init(&json, sink, false);
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
