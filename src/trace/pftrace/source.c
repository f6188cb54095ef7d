/*
 * Reads a .pftrace for a sink. Each run of packets (packets.h) is a job of a worker, which reads the run from the file
 * when it is the run's turn, and passes the events that the reader (reader.h) finds to a piece of the sink, while other
 * workers read on. A run that continues a section, as all runs of other programs' files do, waits for the reader of the
 * run before it and continues with that reader. For sinks that write files one thread passes all events in the file's
 * order.
 */

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/map.h"
#include "common/threads.h"
#include "trace/fields_receiver.h"
#include "trace/json/text.h"
#include "trace/pftrace/packets.h"
#include "trace/pftrace/reader.h"
#include "trace/sink.h"

#define WORKERS_MOST 8        /* more threads would wait for the thread that consumes the pieces */
#define USUAL_BYTES (2 << 20) /* of a run; of larger runs only one is held at a time */

/* --- events --- */

/* Reads runs, and passes their events to a sink. */
struct maker {
    struct interner strings;
    struct pftrace_reader *reader;
    struct sink *sink;            /* sink of the current run */
    bool is_piece;                /* `sink` is a piece */
    bool begun;                   /* events were passed on: JSON has no place for metadata after them */
    uint64_t base;                /* ns of CLOCK_REALTIME that events' times are relative to; 0 for pieces */
    uint64_t left_out;            /* metadata behind events, or that is not JSON */
    struct buffer category;       /* category of the current event, escaped for JSON */
    struct buffer clean;          /* a value of metadata that had to be cleaned */
    struct counter_values values; /* values of the current counter */
    bool failed;                  /* memory ran out */
};

static void maker_free(struct maker *maker)
{
    if (!maker)
        return;
    if (maker->reader)
        pftrace_close(maker->reader);
    interner_release(&maker->strings);
    buffer_release(&maker->category);
    buffer_release(&maker->clean);
    array_release(&maker->values);
    free(maker);
}

static struct maker *maker_new(void)
{
    struct maker *maker = calloc(1, sizeof(*maker));
    if (!maker) {
        error_no_memory("reading");
        return NULL;
    }
    buffer_init_memory(&maker->category);
    buffer_init_memory(&maker->clean);
    maker->reader = pftrace_reader_new(&maker->strings);
    if (maker->reader)
        return maker;
    maker_free(maker);
    return NULL;
}

static inline struct name name_of(const struct pftrace_event *event)
{
    return (struct name){.text = event->name, .length = event->name_length, .kept = true};
}

/* Returns the event's category, escaped for JSON and valid until the next call. */
static const char *other_category(struct maker *maker, const struct pftrace_event *event)
{
    maker->category.length = 0;
    json_escape(&maker->category, event->other_category, strlen(event->other_category));
    buffer_char(&maker->category, '\0');
    return maker->category.failure ? "" : maker->category.data;
}

/* The arguments of an event, as lists that point into the reader's event. */
struct event_args {
    struct args args;
    struct arg_list own, shared;
};

static inline void set_args(struct event_args *to, const struct pftrace_event *event)
{
    to->args.count = 0;
    to->own = (struct arg_list){.items = event->args, .count = event->arg_count};
    if (event->arg_count > 0)
        args_list(&to->args, &to->own);
    if (event->shared && event->shared->args.count > 0) {
        to->shared = (struct arg_list){event->shared->args.items, event->shared->args.count, event->shared->number};
        args_list(&to->args, &to->shared);
    }
    if (event->cbid != 0)
        args_u64(&to->args, ARG_CBID, event->cbid - 1);
    if (event->has_correlation)
        args_u64(&to->args, ARG_CORRELATION, event->correlation);
}

static inline void set_slice(struct maker *maker, const struct pftrace_event *event, struct slice *slice,
                             struct event_args *args)
{
    set_args(args, event);
    slice->category = event->category;
    slice->other_category = event->category == CATEGORY_OTHER ? other_category(maker, event) : NULL;
    slice->name = name_of(event);
    slice->row = (struct row){event->pid, event->tid};
    slice->start = maker->base + event->start;
    slice->end = maker->base + event->end;
    slice->args = &args->args;
}

static void give_slice(struct maker *maker, const struct pftrace_event *event)
{
    struct event_args args;
    struct slice slice;
    set_slice(maker, event, &slice, &args);
    if (event->what == PFTRACE_INSTANT)
        maker->sink->format->instant(maker->sink, &slice);
    else
        maker->sink->format->slice(maker->sink, &slice);
    for (size_t i = 0; i < event->flow_count && event->what == PFTRACE_SLICE; i++) {
        uint64_t id = event->flows[i];
        struct flow flow = {.category = id & PFTRACE_FLOW_OF_OPERATOR ? CATEGORY_FWDBWD : CATEGORY_OTHER,
                            .id = (uint32_t)id,
                            .ends = event->is_head || id & PFTRACE_FLOW_ENDS,
                            .row = slice.row,
                            .time = maker->base + event->flow_time};
        maker->sink->format->flow(maker->sink, &flow);
    }
}

static void give_async(struct maker *maker, const struct pftrace_event *event)
{
    struct event_args args;
    struct slice slice;
    set_slice(maker, event, &slice, &args);
    struct async_slice async = {.category = slice.category,
                                .other_category = slice.other_category,
                                .name = slice.name,
                                .begin = slice.row,
                                .end_row = {event->end_pid, event->end_tid},
                                .start = slice.start,
                                .end = slice.end,
                                .id = event->id,
                                .instant = event->instant,
                                .args = slice.args};
    maker->sink->format->async(maker->sink, &async);
}

static void give_counter(struct maker *maker, const struct pftrace_event *event)
{
    struct counter_values *values = &maker->values;
    values->count = 0;
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct arg *arg = &event->args[i];
        struct counter_value *value = array_push(values);
        if (!value) {
            maker->failed = true;
            return;
        }
        *value = (struct counter_value){.name = arg->other,
                                        .length = arg->other_length,
                                        .kind = arg->type == ARG_TYPE_REAL  ? COUNTER_REAL
                                                : arg->type == ARG_TYPE_U64 ? COUNTER_UNSIGNED
                                                                            : COUNTER_SIGNED,
                                        .u64 = arg->u64};
    }
    struct counter counter = {.name = name_of(event),
                              .pid = event->pid,
                              .time = maker->base + event->start,
                              .values = values->items,
                              .value_count = values->count};
    if (event->one_value && values->count > 0) {
        counter.value_count = 0;
        counter.real = values->items[0].kind == COUNTER_REAL;
        if (counter.real)
            counter.value = values->items[0].real;
        else
            counter.bytes = values->items[0].u64;
    }
    maker->sink->format->counter(maker->sink, &counter);
}

static void give_row(struct maker *maker, const struct pftrace_event *event)
{
    bool process = event->what == PFTRACE_PROCESS;
    struct row_name name = {.row = {event->pid, process ? event->pid : event->tid},
                            .name = event->name,
                            .label = event->text,
                            .owner = process ? event->owner : 0,
                            .sort_index = event->sort_index};
    sink_name_row(maker->sink, process, &name);
}

static void give_metadata(struct maker *maker, const struct pftrace_event *event)
{
    struct json_fault fault;
    if (maker->begun || !json_check(event->text, event->length, &fault)) {
        maker->left_out++;
        return;
    }
    if (!maker->is_piece && strcmp(event->name, "baseTimeNanoseconds") == 0)
        maker->base = strtoull(event->text, NULL, 10);
    struct json_text value = json_clean((struct json_text){event->text, event->length}, &maker->clean);
    maker->failed |= maker->clean.failure != 0;
    if (!maker->failed)
        maker->sink->format->metadata(maker->sink, event->name, value.at, value.length);
}

/* Passes the events of RUN to SINK, the whole or a piece, and sets *LEFT_OUT to the number of packets that are left
 * out. A run that does not begin a section needs the maker of the run before it. Returns 0, or -1 after error(). */
static int pftrace_run_give(struct maker *maker, struct packets_run *run, struct sink *sink, uint64_t *left_out)
{
    const struct pftrace_event *event;
    uint64_t before = pftrace_left_out(maker->reader) + maker->left_out;
    int more;
    maker->sink = sink;
    pftrace_take(maker->reader, run);
    while ((more = pftrace_next(maker->reader, &event)) > 0) {
        if (event->what != PFTRACE_METADATA && !maker->begun) {
            maker->begun = true;
            if (!maker->is_piece)
                sink->format->begin(sink, maker->base);
        }

        switch (event->what) {
        case PFTRACE_METADATA: give_metadata(maker, event); break;
        case PFTRACE_PROCESS:
        case PFTRACE_THREAD: give_row(maker, event); break;
        case PFTRACE_SLICE:
        case PFTRACE_INSTANT: give_slice(maker, event); break;
        case PFTRACE_ASYNC: give_async(maker, event); break;
        case PFTRACE_COUNTER: give_counter(maker, event); break;
        }
    }
    *left_out = pftrace_left_out(maker->reader) + maker->left_out - before;
    if (more == 0 && (maker->failed || maker->category.failure || sink->buffer->failure == ENOMEM))
        return error_no_memory("the trace's events");
    return more;
}

/* --- runs --- */

struct slot {
    struct packets_run run;
    struct buffer made; /* the piece of the sink's output */
    uint64_t left_out;
    struct maker *maker;    /* for a run that continues a section; NULL: not passed on yet */
    pthread_cond_t changed; /* signals: it is the run's turn, `maker` was set, or reading was stopped */
};

struct reading {
    struct packets packets;
    struct sink *sink;
    bool in_pieces; /* the sink is written in pieces; else one maker passes all events */
    unsigned slot_count;
    struct slot *slots;
    struct maker *makers[WORKERS_MOST]; /* one for each worker; NULL: the worker has none now */
    uint64_t left_out;
    pthread_mutex_t lock; /* guards turn, stopped, packets, and the slots' makers */
    size_t turn;          /* number of the run that is read next */
    bool stopped;
};

static struct slot *slot_of(struct reading *reading, size_t piece)
{
    return &reading->slots[piece % reading->slot_count];
}

/* Tells all workers to stop. Returns -1. */
static int stop(struct reading *reading)
{
    pthread_mutex_lock(&reading->lock);
    reading->stopped = true;
    for (unsigned i = 0; i < reading->slot_count; i++)
        pthread_cond_signal(&reading->slots[i].changed);
    pthread_mutex_unlock(&reading->lock);
    return -1;
}

/* Waits for the run's turn and reads it. Returns 1, 0 if there is no run, or -1 after error() or if reading was
 * stopped. */
static int read_run(struct reading *reading, size_t piece, struct slot *slot)
{
    int more = -1;
    pthread_mutex_lock(&reading->lock);
    while (!reading->stopped && reading->turn != piece)
        pthread_cond_wait(&slot->changed, &reading->lock);
    if (!reading->stopped)
        more = packets_next_run(&reading->packets, &slot->run);
    if (more <= 0 || slot->run.capacity <= (size_t)USUAL_BYTES)
        pthread_cond_signal(&slot_of(reading, ++reading->turn)->changed);
    pthread_mutex_unlock(&reading->lock);
    return more;
}

/* Returns the maker for a run: the one of the section so far, or the worker's own. Returns NULL after error() or if
 * reading was stopped. */
static struct maker *take_maker(struct reading *reading, struct slot *slot, unsigned worker)
{
    struct maker *maker = reading->makers[worker];
    if (slot->run.begins) {
        reading->makers[worker] = NULL;
        return maker ? maker : maker_new();
    }
    pthread_mutex_lock(&reading->lock);
    while (!reading->stopped && !slot->maker)
        pthread_cond_wait(&slot->changed, &reading->lock);
    maker = slot->maker;
    slot->maker = NULL;
    pthread_mutex_unlock(&reading->lock);
    return maker;
}

/* Passes the events of a slot's run to the sink or a piece of it. Returns 0, or -1 after error(). */
static int make_piece(struct reading *reading, struct maker *maker, struct slot *slot)
{
    struct sink piece;
    if (!reading->in_pieces)
        return pftrace_run_give(maker, &slot->run, reading->sink, &slot->left_out);
    if (slot->run.begins) {
        pftrace_forget(maker->reader);
        interner_release(&maker->strings);
        maker->begun = !slot->run.first;
    }
    slot->made.length = 0;
    maker->is_piece = true;
    sink_piece(&piece, reading->sink, &slot->made);
    int result = pftrace_run_give(maker, &slot->run, &piece, &slot->left_out);
    sink_release(&piece);
    return result;
}

static int make(void *context, size_t piece, unsigned slot_number, unsigned worker)
{
    struct reading *reading = context;
    struct slot *slot = slot_of(reading, piece);
    (void)slot_number;
    int more = read_run(reading, piece, slot);
    if (more <= 0)
        return more < 0 ? stop(reading) : 1;
    struct maker *maker = take_maker(reading, slot, worker);
    if (!maker)
        return stop(reading);
    int result = make_piece(reading, maker, slot);

    if (slot->run.goes_on) {
        pthread_mutex_lock(&reading->lock);
        struct slot *next = slot_of(reading, piece + 1);
        next->maker = maker;
        pthread_cond_signal(&next->changed);
        pthread_mutex_unlock(&reading->lock);
    } else {
        maker_free(reading->makers[worker]);
        reading->makers[worker] = maker;
    }
    return result < 0 ? stop(reading) : 0;
}

static int take(void *context, size_t piece, unsigned slot_number)
{
    struct reading *reading = context;
    struct slot *slot = slot_of(reading, piece);
    (void)slot_number;
    const struct buffer *whole = reading->sink->buffer;
    if ((slot->made.length > 0 && whole->drain(whole->context, slot->made.data, slot->made.length) < 0) ||
        packets_report_end(&reading->packets, &slot->run) < 0)
        return stop(reading);
    reading->left_out += slot->left_out;
    if (slot->run.capacity <= (size_t)USUAL_BYTES)
        return 0;
    packets_run_release(&slot->run); /* its memory is freed, and only then the next run is read */
    buffer_release(&slot->made);
    pthread_mutex_lock(&reading->lock);
    pthread_cond_signal(&slot_of(reading, ++reading->turn)->changed);
    pthread_mutex_unlock(&reading->lock);
    return 0;
}

static int read_all(struct reading *reading, unsigned workers)
{
    struct ordered_loop pieces = {
        .count = ORDERED_LOOP_UNKNOWN, .workers = workers, .make = make, .take = take, .context = reading};
    reading->slot_count = ordered_loop_slots(workers) + 1; /* slots in use, and one that a maker may be passed on to */
    reading->slots = calloc(reading->slot_count, sizeof(*reading->slots));
    if (!reading->slots)
        return error_no_memory("reading");
    for (unsigned i = 0; i < reading->slot_count; i++) {
        buffer_init_memory(&reading->slots[i].made);
        pthread_cond_init(&reading->slots[i].changed, NULL);
    }
    int result = ordered_loop_run(&pieces);
    if (result == 0 && reading->left_out > 0)
        warning("'%s': %" PRIu64 " packet%s left out: gputrace does not write such packets",
                reading->packets.source.path, reading->left_out, reading->left_out == 1 ? " is" : "s are");
    return result;
}

static void release(struct reading *reading)
{
    for (unsigned i = 0; i < WORKERS_MOST; i++)
        maker_free(reading->makers[i]);
    for (unsigned i = 0; reading->slots && i < reading->slot_count; i++) {
        packets_run_release(&reading->slots[i].run);
        buffer_release(&reading->slots[i].made);
        maker_free(reading->slots[i].maker);
        pthread_cond_destroy(&reading->slots[i].changed);
    }
    free(reading->slots);
    packets_close(&reading->packets);
    pthread_mutex_destroy(&reading->lock);
}

static void finish(const struct reading *reading)
{
    const struct maker *maker = reading->makers[0];
    struct sink *sink = reading->sink;
    if (!reading->in_pieces && (!maker || !maker->begun))
        sink->format->begin(sink, maker ? maker->base : 0);
    sink->format->finish(sink);
}

int pftrace_read(const char *path, struct sink *sink, unsigned workers)
{
    struct interner *strings;
    struct reading reading = {.sink = sink, .in_pieces = fields_sink_receiver(sink, &strings) != NULL};
    if (packets_open(&reading.packets, path) != 0)
        return -1;
    pthread_mutex_init(&reading.lock, NULL);
    mallopt(M_MMAP_THRESHOLD, USUAL_BYTES); /* else each thread's heap would keep the memory of a large run */
    if (reading.in_pieces)
        sink->format->begin(sink, 0);
    int result = read_all(&reading, reading.in_pieces ? ordered_loop_workers(workers, WORKERS_MOST) : 1);
    if (result == 0)
        finish(&reading);
    release(&reading);
    return result;
}
