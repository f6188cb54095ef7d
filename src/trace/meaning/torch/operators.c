/*
 * Pairs starts and ends of operators, links those of the backward pass to the forward pass, and makes their arguments
 * and flows.
 */
#include "trace/meaning/torch/operators.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/spool_records.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/event_fields.h"
#include "trace/spool/agent_records.h"

/* --- names --- */

int index_operator_name(struct process *process, const struct event *event)
{
    struct operators *operators = process->operators;
    if (event->type == EVENT_OPERATOR_THREAD) {
        return map_set(&operators->thread_numbers, event->thread, event->operator.forward)
                   ? 0
                   : error_no_memory("operators");
    }
    struct operator_text *text = PUT_ITEM(&operators->texts, &operators->text_of, event->operator.text);
    if (!text)
        return error_no_memory("operators");
    *text = (struct operator_text){event->text, event->text_length};
    return 0;
}

static struct operator_text text_of(const struct operators *operators, uint32_t number)
{
    const struct operator_text *text = FIND_ITEM(&operators->texts, &operators->text_of, number);
    return text ? *text : (struct operator_text){"", 0};
}

/* --- begin and end --- */

static uint32_t self_of(const struct nvtx_range *range)
{
    return ((const struct spool_torch_start *)range->record)->self;
}

static int begin(struct process *process, const struct event *event)
{
    enum nvtx_range_kind kind = event->operator.scope == SPOOL_OPERATOR_USER ? NVTX_ANNOTATION : NVTX_OPERATOR;
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    struct nvtx_track *track =
        thread ? nvtx_track_at(process->nvtx, process->capture_intervals, event, NVTX_DOMAIN_OF_KIND(kind)) : NULL;
    if (!track)
        return -1;
    process->operators->any = true;
    if (process->capture_intervals->limited)
        lanes_must_collect(&thread->lanes); /* it may end when recording is switched off, within a call */
    if (event->operator.scope == SPOOL_OPERATOR_BACKWARD && track->ranges.count> 0) {
        /* Notes in the track's last operator that this one, of the backward pass, follows it. */
        uint32_t last = track->ranges.items[track->ranges.count - 1];
        size_t distance = process->nvtx->ranges.count - last;
        process->nvtx->ranges.items[last].to_backward = distance <= UINT16_MAX ? (uint16_t)distance : 0;
    }
    return nvtx_push(process->nvtx, track, event, kind);
}

/* Bound on the search, since many open ranges may end on other threads: operators_match_ends() finds the rest. */
#define LOOKED_AT_MOST 256

/* Returns where the index + 1 of the open range SELF is stored, searching innermost first; NULL if the track has no
 * such open range. */
static uint32_t *find_open(struct nvtx *nvtx, struct nvtx_track *track, uint32_t self)
{
    uint32_t *place = &track->innermost;
    for (unsigned i = 0; *place != 0 && i < LOOKED_AT_MOST; i++, place = &nvtx->ranges.items[*place - 1].parent)
        if (self_of(&nvtx->ranges.items[*place - 1]) == self)
            return place;
    return NULL;
}

static void end_at(struct nvtx_range *range, uint64_t time, uint32_t thread)
{
    range->end = time < range->start ? range->start : time;
    range->end_thread = thread;
}

/* Returns true if the range of KIND was open on this thread and has ended now, or, with *RESULT -1, after error(). */
static bool end_of_kind(struct process *process, const struct event *event, enum nvtx_range_kind kind, int *result)
{
    struct nvtx *nvtx = process->nvtx;
    struct nvtx_track *track = nvtx_track_at(nvtx, process->capture_intervals, event, NVTX_DOMAIN_OF_KIND(kind));
    uint32_t *place = track ? find_open(nvtx, track, event->operator.self) : NULL;
    *result = track ? 0 : -1;
    if (!place)
        return !track;
    struct nvtx_range *range = &nvtx->ranges.items[*place - 1];
    end_at(range, event->start, event->thread);
    *place = range->parent;
    return true;
}

static int end(struct process *process, const struct event *event)
{
    int result;
    if (end_of_kind(process, event, NVTX_OPERATOR, &result) || end_of_kind(process, event, NVTX_ANNOTATION, &result))
        return result;
    struct operator_end elsewhere = {event->operator.self, event->thread, event->start};
    return ADD(file_vector_push, &process->operators->ends, elsewhere) ? 0 : error_no_memory("operators");
}

int index_operator(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    if (event->type == EVENT_OPERATOR)
        return begin(process, event);
    if (event->type == EVENT_OPERATOR_END)
        return end(process, event);
    /* A record of inputs belongs to the operator that began last on its thread. */
    struct nvtx *nvtx = process->nvtx;
    for (enum nvtx_range_kind kind = NVTX_OPERATOR; kind <= NVTX_ANNOTATION; kind++) {
        struct nvtx_track *track =
            FIND_ITEM(&nvtx->tracks, &nvtx->tracks_by_key, (uint64_t)event->thread << 32 | NVTX_DOMAIN_OF_KIND(kind));
        struct nvtx_range *range = track && track->innermost ? &nvtx->ranges.items[track->innermost - 1] : NULL;
        if (range && self_of(range) == event->operator.self)
            range->end_record = event->record;
    }
    return 0;
}

/* --- operators that end on other threads --- */

struct begun {
    uint32_t self;
    uint64_t time;
    struct nvtx_range *range;
};

ORDER_BY(by_self_and_start, struct begun, self, time)
ORDER_BY(by_self_and_time, struct operator_end, self, time)

int operators_match_ends(struct process *process)
{
    struct operators *operators = process->operators;
    ARRAY(struct begun) open = {0};
    bool kept = true;
    if (operators->ends.count == 0)
        return 0;
    for (size_t i = 0; i < process->nvtx->ranges.count && kept; i++) {
        struct nvtx_range *range = &process->nvtx->ranges.items[i];
        if (range->kind != NVTX_RANGE && range->end == 0)
            kept = ADD(array_push, &open, (struct begun){self_of(range), range->start, range});
        process_passed(process, i);
    }
    if (!kept || file_vector_sort(&operators->ends, by_self_and_time) != 0) {
        array_release(&open);
        return error_no_memory("operators");
    }
    if (open.count > 0)
        qsort(open.items, open.count, sizeof(*open.items), by_self_and_start);
    for (size_t i = 0, k = 0; i < operators->ends.count && k < open.count;) {
        const struct operator_end *ended = &operators->ends.items[i];
        const struct begun *begun = &open.items[k];
        bool matches = ended->self == begun->self && ended->time >= begun->time;
        if (matches)
            end_at(begun->range, ended->time, ended->thread);
        k += matches || begun->self < ended->self;
        i += matches || ended->self < begun->self || (ended->self == begun->self && ended->time < begun->time);
    }
    array_release(&open);
    return 0;
}

/* --- flows from the forward to the backward pass --- */

struct numbered {
    uint64_t end, start;
    uint64_t key; /* PyTorch's number of the thread of the forward pass, combined with the sequence number */
    uint32_t range;
    bool backward;
};

static int by_end(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return ORDER(a->end, b->end) ?: ORDER(b->start, a->start) ?: ORDER(b->range, a->range);
}

ORDER_BY(by_range, struct operator_link, range)

struct linking {
    struct process *process;
    FILE_VECTOR(struct numbered) numbered;
    struct map forward; /* key -> index + 1 in numbered, of operators that a flow may begin at */
};

static int add_numbered(struct linking *linking, uint32_t number)
{
    const struct process *process = linking->process;
    const struct nvtx_range *range = &process->nvtx->ranges.items[number];
    if (range->kind != NVTX_OPERATOR)
        return 0;
    struct event event = agent_read(range->record, range->thread);
    const uint64_t *thread = map_get(&process->operators->thread_numbers, range->thread);
    bool backward = event.operator.forward != 0;
    if (event.operator.sequence<0 ||(!backward && !thread))
        return 0;
    uint64_t forward = backward ? event.operator.forward : * thread;
    struct numbered numbered = {.end = range->end,
                                .start = range->start,
                                .key = forward << SPOOL_OPERATOR_SEQUENCE_BITS | (uint64_t)event.operator.sequence,
                                .range = number,
                                .backward = backward};
    return ADD(file_vector_push, &linking->numbered, numbered) ? 0 : -1;
}

static int link_one(struct linking *linking, size_t i)
{
    const struct numbered *items = linking->numbered.items, *item = &items[i];
    uint64_t *known =
        item->backward ? map_get(&linking->forward, item->key) : map_put(&linking->forward, item->key, NULL);
    if (!known)
        return item->backward ? 0 : -1;
    if (!item->backward) {
        if (*known == 0 || item->start >= items[*known - 1].start)
            *known = i + 1;
        return 0;
    }
    uint32_t forward = items[*known - 1].range;
    map_remove(&linking->forward, item->key);
    struct operators *operators = linking->process->operators;
    struct operator_link from = {forward, operators->flows, false}, to = {item->range, operators->flows, true};
    operators->flows++;
    return ADD(file_vector_push, &operators->links, from) && ADD(file_vector_push, &operators->links, to) &&
                   ADD(file_vector_push, &operators->forward, forward)
               ? 0
               : -1;
}

static int link_all(struct linking *linking)
{
    struct process *process = linking->process;
    int result = 0;
    for (size_t i = 0; i < process->nvtx->ranges.count && result == 0; i++) {
        result = add_numbered(linking, (uint32_t)i);
        process_passed(process, i);
    }
    if (result != 0 || file_vector_sort(&linking->numbered, by_end) != 0)
        return -1;
    for (size_t i = 0; i < linking->numbered.count && result == 0; i++)
        result = link_one(linking, i);
    return result != 0 ? result : file_vector_sort(&process->operators->links, by_range);
}

int operators_link(struct process *process)
{
    struct linking linking = {.process = process,
                              .numbered.memory.directory = process->operators->links.memory.directory};
    int result = process->operators->any ? link_all(&linking) : 0;
    file_vector_release(&linking.numbered);
    map_release(&linking.forward);
    return result == 0 ? 0 : error_no_memory("operators");
}

void operators_number(struct conversion *conversion)
{
    uint64_t ids = 0;
    uint32_t flows = 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        process->operators->ids_before = ids;
        process->operators->flows_before = flows;
        ids += process->nvtx->ranges.count + process->operators->compiled.count;
        flows += process->operators->flows;
    }
}

static uint64_t id_of(const struct process *process, uint32_t range)
{
    return process->operators->ids_before + range + 1;
}

/* Writes texts, each with a NUL behind it, as an array. */
static void put_types(struct buffer *buffer, const struct arg_json *arg)
{
    const char *text = arg->context, *end = text + arg->number;
    struct json_out json;
    json_out_init(&json, buffer, false);
    json_begin_array(&json);
    for (size_t length; text < end; text += length + 1) {
        length = strnlen(text, (size_t)(end - text));
        json_string_n(&json, text, length);
    }
    json_end(&json);
}

static void describe_inputs(struct args *args, const struct process *process, const struct nvtx_range *range)
{
    struct shapes_text shapes;
    struct event event = agent_read(range->end_record, range->thread);
    struct operator_text both = text_of(process->operators, event.operator.text);
    size_t dimensions = strnlen(both.text, both.length);
    if (dimensions >= both.length || shapes_read(both.text, dimensions, &shapes) != dimensions)
        return;
    args_add(args, ARG_INPUT_TYPES, ARG_TYPE_JSON)->json = (struct arg_json){
        .put = put_types, .context = both.text + dimensions + 1, .number = both.length - dimensions - 1};
    struct arg *arg = args_add(args, ARG_INPUT_DIMS, ARG_TYPE_RAW);
    arg->text = both.text;
    arg->length = dimensions;
}

/* PyTorch puts an operator without a sequence number around each node of the backward pass: it is shown with the
 * node's. */
static void describe_sequence(struct args *args, const struct nvtx_range *range, const struct event *event,
                              struct operator_text name)
{
    static const char evaluates[] = "autograd::engine::evaluate_function: ";
    const size_t length = sizeof(evaluates) - 1;
    struct event numbered = *event;
    if (range->to_backward != 0 && name.length > length && memcmp(name.text, evaluates, length) == 0)
        numbered = agent_read(range[range->to_backward].record, range->thread);
    if (numbered.operator.sequence<0)
        return;
    args_u64(args, ARG_SEQUENCE, (uint64_t)numbered.operator.sequence);
    args_u64(args, ARG_FORWARD_THREAD, numbered.operator.forward);
}

struct name describe_operator(struct args *args, const struct process *process, uint32_t number, bool shown)
{
    static const char none[] = "(no name)";
    const struct nvtx_range *range = &process->nvtx->ranges.items[number];
    struct event event = agent_read(range->record, range->thread);
    struct operator_text name = text_of(process->operators, event.operator.text);
    args->count = 0;
    args_u64(args, ARG_EXTERNAL_ID, id_of(process, number));
    describe_sequence(args, range, &event, name);
    if (range->end_record && shown)
        describe_inputs(args, process, range);
    if (range->open_at_end && shown)
        args_add(args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    return name.length ? name_passing(name.text, name.length) : name_passing(none, sizeof(none) - 1);
}

void write_operator_flow(struct piece_writer *out, const struct process *process, uint32_t number, struct row row)
{
    const struct operators *operators = process->operators;
    const struct operator_link *links = operators->links.items;
    size_t first = COUNT_BEFORE(operators->links.count, i, links[i].range < number);
    for (size_t i = first; i < operators->links.count && links[i].range == number; i++) {
        struct flow flow = {.category = CATEGORY_FWDBWD,
                            .id = operators->flows_before + links[i].flow + 1,
                            .ends = links[i].ends,
                            .row = row,
                            .time = process->nvtx->ranges.items[number].start};
        out->sink.format->flow(&out->sink, &flow);
    }
}

struct operator_text operator_name(const struct process *process, uint32_t number)
{
    const struct nvtx_range *range = &process->nvtx->ranges.items[number];
    return text_of(process->operators, agent_read(range->record, range->thread).operator.text);
}

size_t compiled_find(const struct operators *operators, uint32_t correlation)
{
    const struct compiled_launch *items = operators->compiled.items;
    size_t count = operators->compiled.count;
    if (correlation == 0 || count == 0)
        return 0;
    size_t place = COUNT_BEFORE(count, i, items[i].correlation < correlation);
    return place < count && items[place].correlation == correlation ? place + 1 : 0;
}

void add_operator_around(struct piece_writer *out, struct args *args, const struct process *process,
                         uint32_t correlation, uint32_t thread, uint64_t time)
{
    if (!process->operators->any)
        return;
    size_t compiled = compiled_find(process->operators, correlation);
    uint32_t range =
        compiled ? 0 : nvtx_innermost(process->nvtx, &out->operators, thread, NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR), time);
    if (compiled)
        args_u64(args, ARG_EXTERNAL_ID, id_of(process, (uint32_t)process->nvtx->ranges.count + (uint32_t)compiled - 1));
    else if (range != 0)
        args_u64(args, ARG_EXTERNAL_ID, id_of(process, range - 1));
}
