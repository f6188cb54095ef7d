/*
 * How a process ended that did not run its exit handlers: the signal that its last thread recorded, and the calls that
 * threads were in.
 */
#include <signal.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/spool.h"
#include "common/spool_records.h"
#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/spool/cuda_names.h"

int index_crash_record(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    return ADD(array_push, &process->crash_records, *event) ? 0 : error_no_memory("crashes");
}

const char *process_state(const struct conversion *conversion, const struct process *process)
{
    const struct spool_header *header = &process->file.header;
    const struct process *image = header->process_started != 0 ? conversion_latest_image(conversion, process) : NULL;
    if (header->state == SPOOL_FINISHED)
        return "finished";
    if (image && image->file.header.started > header->started)
        return "became another program";
    if (process->file.is_written)
        return "still runs";
    return "ended without its exit handlers";
}

static void put_time(const struct conversion *conversion, struct json_out *json, uint64_t time)
{
    json_key(json, "ts");
    json_us(json, (int64_t)(time - conversion->base));
}

/* Faults that the kernel raises have an address. */
static bool has_address(const struct event *event)
{
    const struct spool_crash *crash = event->record;
    int32_t signal = crash->signal;
    return crash->code > 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE);
}

static void put_signal(const struct conversion *conversion, const struct process *process, struct json_out *json,
                       const struct event *event)
{
    const struct spool_crash *crash = event->record;
    json_key_object(json, "death");
    json_put_i64(json, "signal", crash->signal);
    json_put_text(json, "words", strsignal(crash->signal));
    json_put_i64(json, "code", crash->code);
    json_put_i64(json, "thread", event->thread);
    if (has_address(event))
        json_put_hex(json, "address", crash->address);
    if (crash->sender != 0)
        json_put_i64(json, "sender", crash->sender);
    put_time(conversion, json, event->start);
    /* The stack of the thread, and what the innermost of its frames was doing. */
    const struct recorded_stack *stack = stacks_get(process->stacks, CRASH_STACK);
    if (stack && stack->leaf != 0) {
        json_put_u64(json, "stack", stack->leaf);
        json_put_text(json, "called at", interned(&process->conversion->stacks.places, stack->place));
    }
    json_end(json);
}

static void put_object(const struct process *process, struct json_out *json, const struct event *event)
{
    static const char *const words[] = {
        [SPOOL_CALL_OF_STREAM] = "stream", [SPOOL_CALL_OF_EVENT] = "event", [SPOOL_CALL_OF_CONTEXT] = "context"};
    const struct spool_open_call *call = event->record;
    uint32_t what = call->what;
    if (what == SPOOL_CALL_OF_NOTHING || what >= sizeof(words) / sizeof(*words))
        return;
    json_put_text(json, "waits_for", words[what]);
    const uint64_t *stream = what == SPOOL_CALL_OF_STREAM ? map_get(&process->stream_of_handle, call->object) : NULL;
    if (stream)
        json_put_i64(json, "stream", (int64_t)*stream - 1);
    if (what != SPOOL_CALL_OF_CONTEXT)
        json_put_hex(json, "handle", call->object);
}

static void put_open_call(const struct conversion *conversion, const struct process *process, struct json_out *json,
                          const struct event *event)
{
    const struct spool_open_call *call = event->record;
    const char *function = api_name(EVENT_API_DRIVER, call->cbid);
    json_begin_object(json);
    json_put_i64(json, "thread", event->thread);
    json_put_text(json, "function", function ? function : "a driver call");
    put_time(conversion, json, event->start);
    json_put_i64(json, "correlation", process_correlation(process, event->correlation));
    put_object(process, json, event);
    json_end(json);
}

void write_crash_records(const struct conversion *conversion, const struct process *process, struct json_out *json)
{
    const struct spool_header *header = &process->file.header;
    const struct event *crash = NULL;
    if (header->state == SPOOL_FINISHED)
        return;
    /* The service thread of the agent looks at the clocks in every round: the process lived then. */
    if (header->clock_looked > header->started_monotonic) {
        json_key_object(json, "alive");
        put_time(conversion, json, header->started + (header->clock_looked - header->started_monotonic));
        json_end(json);
    }
    json_key_array(json, "open_calls");
    for (size_t i = 0; i < process->crash_records.count; i++) {
        const struct event *event = &process->crash_records.items[i];
        const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
        /* CUPTI records a call when it returns: then it is not open, though the writer had no time to say so. */
        bool returned = launch && launch->from != LAUNCH_UNKNOWN;
        if (event->type == EVENT_CRASH)
            crash = event;
        else if (!returned)
            put_open_call(conversion, process, json, event);
    }
    json_end(json);
    if (crash)
        put_signal(conversion, process, json, crash);
}
