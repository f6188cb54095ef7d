/* Events: made, recorded, waited for by streams. */
#include "hazards.h"

/* An event goes: when a stream waited for it, and nobody ever recorded it, that is told. */
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
