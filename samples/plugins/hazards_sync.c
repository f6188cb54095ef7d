/* Streams, events, and who waits for whom. */
#include "hazards.h"

#define UNMATCHED 905    /* CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: another stream began the capture … */
#define WRONG_THREAD 908 /* … or another thread: it goes on */

/* --- streams and contexts --- */

static void on_stream_creation(void *data, const struct gputrace_stream_creation *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0 || !what->stream)
        return;
    turn_begin(&turn, hazards);
    order_stream_created(&hazards->order, what);
    turn_end(&turn);
}

static void on_stream_deletion(void *data, const struct gputrace_stream_deletion *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    turn_commit(&turn, ORDER_STREAMS_MAX);
    order_stream_deleted(&hazards->order, what);
    turn_end(&turn);
}

static void on_context_creation(void *data, const struct gputrace_context_creation *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.device == GPUTRACE_NO_DEVICE)
        return;
    turn_begin(&turn, hazards);
    hazards->several_devices |= hazards->device != 0 && hazards->device != what->call.device + 1;
    hazards->device = what->call.device + 1;
    turn_end(&turn);
}

static void on_context_deletion(void *data, const struct gputrace_context_deletion *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    turn_begin(&turn, hazards);
    turn_commit(&turn, ORDER_STREAMS_MAX);
    order_context_deleted(&hazards->order, &what->call);
    memory_context_deleted(&hazards->memory, &what->call);
    turn_end(&turn);
}

/* --- the host waits, or asks and hears that all is done --- */

static void host_waited(struct hazards *hazards, const struct gputrace_call *call, struct CUstream_st *stream)
{
    struct turn turn;
    if (call->result != 0)
        return;
    turn_begin(&turn, hazards);
    order_host_waited(&hazards->order, turn_stream(&turn, call, stream));
    turn_end(&turn);
}

static void on_stream_synchronization(void *data, const struct gputrace_stream_synchronization *what)
{
    host_waited(data, &what->call, what->stream);
}

static void on_stream_query(void *data, const struct gputrace_stream_query *what)
{
    host_waited(data, &what->call, what->stream);
}

static void on_device_synchronization(void *data, const struct gputrace_device_synchronization *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    turn_commit(&turn, ORDER_STREAMS_MAX);
    order_host_waited_device(&hazards->order, what->call.device);
    turn_end(&turn);
}

/* Unloading code waits for what may be running it. */
static void on_module_unload(void *data, const struct gputrace_module_unload *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    turn_commit(&turn, ORDER_STREAMS_MAX);
    order_host_may_know_device(&hazards->order, what->call.device);
    turn_end(&turn);
}

static void event_done(struct hazards *hazards, const struct gputrace_call *call, struct CUevent_st *event)
{
    struct turn turn;
    if (call->result != 0)
        return;
    turn_begin(&turn, hazards);
    turn_commit(&turn, ORDER_STREAMS_MAX);
    order_event_synchronized(&hazards->order, event);
    turn_end(&turn);
}

static void on_event_synchronization(void *data, const struct gputrace_event_synchronization *what)
{
    event_done(data, &what->call, what->event);
}

static void on_event_query(void *data, const struct gputrace_event_query *what)
{
    event_done(data, &what->call, what->event);
}

/* --- what is put into streams beside copies, sets and kernels --- */

static void put_gate(struct hazards *hazards, const struct gputrace_call *call, struct CUstream_st *stream)
{
    struct turn turn;
    if (call->result != 0)
        return;
    turn_begin(&turn, hazards);
    uint32_t number = turn_stream(&turn, call, stream);
    order_gate(&hazards->order, number);
    hazards_release(hazards, call, number);
    turn_end(&turn);
}

static void on_host_function(void *data, const struct gputrace_host_function *what)
{
    put_gate(data, &what->call, what->stream);
}

static void on_stream_value(void *data, const struct gputrace_stream_value *what)
{
    put_gate(data, &what->call, what->stream);
}

static void on_graph_launch(void *data, const struct gputrace_graph_launch *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    uint32_t number = turn_stream(&turn, &what->call, what->stream);
    order_graph_launched(&hazards->order, number);
    hazards_release(hazards, &what->call, number);
    turn_end(&turn);
}

static void on_capture_start(void *data, const struct gputrace_graph_capture_start *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    order_capture_started(&hazards->order, turn_stream(&turn, &what->call, what->stream));
    turn_end(&turn);
}

/* Also a capture that was broken is over. */
static void on_capture_end(void *data, const struct gputrace_graph_capture_end *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result == UNMATCHED || what->call.result == WRONG_THREAD)
        return;
    turn_begin(&turn, hazards);
    order_capture_ended(&hazards->order, turn_stream(&turn, &what->call, what->stream));
    turn_end(&turn);
}

bool hazards_hear_sync(struct hazards *hazards)
{
    const struct gputrace_host *host = hazards->host;
    return gputrace_stream_synchronization_register(host, on_stream_synchronization, hazards) &&
           gputrace_stream_query_register(host, on_stream_query, hazards) &&
           gputrace_device_synchronization_register(host, on_device_synchronization, hazards) &&
           gputrace_module_unload_register(host, on_module_unload, hazards) &&
           gputrace_event_synchronization_register(host, on_event_synchronization, hazards) &&
           gputrace_event_query_register(host, on_event_query, hazards);
}

bool hazards_hear_streams(struct hazards *hazards)
{
    const struct gputrace_host *host = hazards->host;
    return gputrace_stream_creation_register(host, on_stream_creation, hazards) &&
           gputrace_stream_deletion_register(host, on_stream_deletion, hazards) &&
           gputrace_context_creation_register(host, on_context_creation, hazards) &&
           gputrace_context_deletion_register(host, on_context_deletion, hazards) &&
           gputrace_host_function_register(host, on_host_function, hazards) &&
           gputrace_stream_value_register(host, on_stream_value, hazards) &&
           gputrace_graph_launch_register(host, on_graph_launch, hazards) &&
           gputrace_graph_capture_start_register(host, on_capture_start, hazards) &&
           gputrace_graph_capture_end_register(host, on_capture_end, hazards);
}

/* Events: made, recorded, waited for by streams. */

/* An event goes: when a stream waited for it, and nobody ever recorded it, it is reported. */
static void finish_event(struct hazards *hazards, struct findings *findings, const struct order_event *event)
{
    if (event && order_event_is_void(&hazards->order, event) && findings->count < FINDINGS_MAX)
        findings->of[findings->count++] = (struct finding){.kind = FINDING_VOID, .first = event->place};
}

void hazards_finish_events(struct hazards *hazards)
{
    for (uint32_t i = 0;; i++) {
        struct turn turn;
        turn_begin(&turn, hazards);
        bool more = i < hazards->order.event_count;
        if (more && hazards->order.events[i].handle)
            finish_event(hazards, &turn.findings, &hazards->order.events[i]);
        turn_end(&turn);
        if (!more)
            return;
    }
}

static void on_creation(void *data, const struct gputrace_event_creation *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0 || !what->event)
        return;
    turn_begin(&turn, hazards);
    order_event_created(&hazards->order, what);
    turn_end(&turn);
}

static void on_deletion(void *data, const struct gputrace_event_deletion *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    struct order_event *event = order_event_deletable(&hazards->order, what);
    finish_event(hazards, &turn.findings, event);
    order_event_deleted(&hazards->order, event);
    turn_end(&turn);
}

static void on_record(void *data, const struct gputrace_event_record *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    if (what->whole_context) {
        turn_commit(&turn, ORDER_STREAMS_MAX);
        order_event_recorded_device(&hazards->order, what->event, GPUTRACE_NO_DEVICE);
    } else {
        order_event_recorded(&hazards->order, what->event, turn_stream(&turn, &what->call, what->stream));
    }
    turn_end(&turn);
}

/* Keeps where the event was waited for before it was recorded, the first time. */
static void note_wait(struct hazards *hazards, const struct gputrace_event_wait *what, uint32_t number)
{
    struct place place = {
        .what = PLACE_WAIT,
        .stack = hazards->no_stacks ? 0 : gputrace_stack(hazards->host, 0),
        .time = what->call.start,
        .function = what->call.function,
        .stream = what->stream,
        .thread = what->call.thread,
        .in_stream = 1,
        .address = (uint64_t)(uintptr_t)what->event,
    };
    struct turn turn;
    turn_begin(&turn, hazards);
    struct order_event *event = order_event_of(&hazards->order, what->event);
    if (event && !event->waited) {
        place.stream_id = hazards->order.streams[number].stream_id;
        event->waited = true;
        event->place = place;
    }
    turn_end(&turn);
}

/* What was declared for the stream is not taken to have come: it may be put there after the wait. */
static void on_wait(void *data, const struct gputrace_event_wait *what)
{
    struct hazards *hazards = data;
    struct turn turn;
    bool known_unrecorded = false;
    uint32_t number = 0;
    if (what->call.result != 0)
        return;
    turn_begin(&turn, hazards);
    if (what->whole_context) {
        order_event_waited_device(&hazards->order, what->event);
    } else {
        number = order_stream_of(&hazards->order, &what->call, what->stream);
        known_unrecorded = !order_event_waited(&hazards->order, what->event, number);
    }
    turn_end(&turn);
    if (known_unrecorded)
        note_wait(hazards, what, number);
}

bool hazards_hear_events(struct hazards *hazards)
{
    return gputrace_event_creation_register(hazards->host, on_creation, hazards) &&
           gputrace_event_deletion_register(hazards->host, on_deletion, hazards) &&
           gputrace_event_record_register(hazards->host, on_record, hazards) &&
           gputrace_event_wait_register(hazards->host, on_wait, hazards);
}
