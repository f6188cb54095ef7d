/*
 * A run of packets (pftrace/packets.h) is a piece of the work: who begins one reads it from the file when it is its
 * turn, and makes records of it (pftrace_records.h) while others read on. A run that goes on with the section of the
 * one before it, as all do in a file that others wrote, waits for those records' maker and goes on with it.
 */
#include "trace/pftrace/parallel_reader.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/threads.h"
#include "trace/event_records.h"
#include "trace/pftrace/pftrace_records.h"
#include "trace/pftrace/packets.h"
#include "trace/json/reader.h"

#define WORKERS_MOST 8        /* more would wait for the one that sums up */
#define USUAL_BYTES (2 << 20) /* of a run; of larger ones there is one at a time */

struct slot {
    struct packets_run run;
    struct buffer records;
    uint64_t left_out;
    struct pftrace_records *maker; /* of the piece that will be here; NULL: not yet, or its worker's own does */
    pthread_cond_t changed;        /* it is the piece's turn, or its maker is there, or all was stopped */
};

struct reading {
    struct packets packets;
    struct event_feed feed;
    unsigned slot_count;
    struct slot *slots;
    struct pftrace_records *makers[WORKERS_MOST]; /* of workers; NULL: it has none at hand */
    uint64_t left_out;
    pthread_mutex_t lock; /* of the three below, of packets, and of the slots' makers */
    size_t turn;          /* the piece that reads next */
    bool stopped;
};

static struct slot *slot_of(struct reading *reading, size_t piece)
{
    return &reading->slots[piece % reading->slot_count];
}

/* Lets others know that all is in vain. */
static int stop(struct reading *reading)
{
    pthread_mutex_lock(&reading->lock);
    reading->stopped = true;
    for (unsigned i = 0; i < reading->slot_count; i++)
        pthread_cond_signal(&reading->slots[i].changed);
    pthread_mutex_unlock(&reading->lock);
    return -1;
}

static bool is_large(const struct packets_run *run)
{
    return run->capacity > (size_t)USUAL_BYTES;
}

static void pass_turn(struct reading *reading)
{
    pthread_cond_signal(&slot_of(reading, ++reading->turn)->changed);
}

/* 1: the slot has the piece's run; 0: there is none; -1 after error(), or when all was stopped. */
static int read_run(struct reading *reading, size_t piece, struct slot *slot)
{
    int more = -1;
    pthread_mutex_lock(&reading->lock);
    while (!reading->stopped && reading->turn != piece)
        pthread_cond_wait(&slot->changed, &reading->lock);
    if (!reading->stopped)
        more = packets_next_run(&reading->packets, &slot->run);
    if (more <= 0 || !is_large(&slot->run))
        pass_turn(reading);
    pthread_mutex_unlock(&reading->lock);
    return more;
}

/* Who makes the records of a run: whoever made those of the section so far, or the worker's own. NULL after error(), or
 * when all was stopped. */
static struct pftrace_records *take_maker(struct reading *reading, struct slot *slot, unsigned worker)
{
    struct pftrace_records *maker = reading->makers[worker];
    if (slot->run.begins) {
        reading->makers[worker] = NULL;
        return maker ? maker : pftrace_records_new();
    }
    pthread_mutex_lock(&reading->lock);
    while (!reading->stopped && !slot->maker)
        pthread_cond_wait(&slot->changed, &reading->lock);
    maker = slot->maker;
    slot->maker = NULL;
    pthread_mutex_unlock(&reading->lock);
    return maker;
}

static void give_maker(struct reading *reading, struct pftrace_records *maker, size_t piece, bool goes_on,
                       unsigned worker)
{
    if (goes_on) {
        pthread_mutex_lock(&reading->lock);
        struct slot *next = slot_of(reading, piece + 1);
        next->maker = maker;
        pthread_cond_signal(&next->changed);
        pthread_mutex_unlock(&reading->lock);
    } else {
        pftrace_records_free(reading->makers[worker]);
        reading->makers[worker] = maker;
    }
}

static int make(void *context, size_t piece, unsigned slot_number, unsigned worker)
{
    struct reading *reading = context;
    struct slot *slot = slot_of(reading, piece);
    (void)slot_number;
    int more = read_run(reading, piece, slot);
    if (more <= 0)
        return more < 0 ? stop(reading) : 1;
    struct pftrace_records *maker = take_maker(reading, slot, worker);
    if (!maker)
        return stop(reading);
    slot->records.length = 0;
    slot->left_out = 0;
    int result = pftrace_records_take(maker, &slot->run, &slot->records, &slot->left_out);
    give_maker(reading, maker, piece, slot->run.goes_on, worker);
    return result < 0 ? stop(reading) : 0;
}

/* Its room is not kept, and the next run may be read. */
static void end_large(struct reading *reading, struct slot *slot)
{
    packets_run_release(&slot->run);
    buffer_release(&slot->records);
    pthread_mutex_lock(&reading->lock);
    pass_turn(reading);
    pthread_mutex_unlock(&reading->lock);
}

static int take(void *context, size_t piece, unsigned slot_number)
{
    struct reading *reading = context;
    struct slot *slot = slot_of(reading, piece);
    (void)slot_number;
    if (event_feed_take(&reading->feed, slot->records.data, slot->records.length) < 0 ||
        packets_tell_end(&reading->packets, &slot->run) < 0)
        return stop(reading);
    reading->left_out += slot->left_out;
    if (is_large(&slot->run))
        end_large(reading, slot);
    return 0;
}

static int read_all(struct reading *reading, unsigned workers)
{
    struct ordered_loop pieces = {
        .count = ORDERED_LOOP_UNKNOWN, .workers = workers, .make = make, .take = take, .context = reading};
    reading->slot_count =
        ordered_loop_slots(workers) + 1; /* of those in work, and of the one that a maker may be given to */
    reading->slots = calloc(reading->slot_count, sizeof(*reading->slots));
    if (!reading->slots)
        return error_no_memory("reading");
    for (unsigned i = 0; i < reading->slot_count; i++) {
        buffer_init_memory(&reading->slots[i].records);
        pthread_cond_init(&reading->slots[i].changed, NULL);
    }
    int result = ordered_loop_run(&pieces);
    if (result == 0 && reading->left_out > 0)
        warning("'%s': %" PRIu64 " packets are left out: gputrace does not write such packets",
                reading->packets.source.path, reading->left_out);
    return result;
}

static void release(struct reading *reading)
{
    for (unsigned i = 0; i < WORKERS_MOST; i++)
        pftrace_records_free(reading->makers[i]);
    for (unsigned i = 0; reading->slots && i < reading->slot_count; i++) {
        packets_run_release(&reading->slots[i].run);
        buffer_release(&reading->slots[i].records);
        pftrace_records_free(reading->slots[i].maker);
        pthread_cond_destroy(&reading->slots[i].changed);
    }
    free(reading->slots);
    event_feed_release(&reading->feed);
    packets_close(&reading->packets);
    pthread_mutex_destroy(&reading->lock);
}

int pftrace_read(const char *path, struct interner *strings, const struct event_sink *buffer)
{
    struct reading reading = {0};
    if (packets_open(&reading.packets, path, buffer->workers) != 0)
        return -1;
    pthread_mutex_init(&reading.lock, NULL);
    event_feed_init(&reading.feed, strings, buffer);
    mallopt(M_MMAP_THRESHOLD, USUAL_BYTES); /* else each thread's heap would keep the room of a large run */
    int result = read_all(&reading, ordered_loop_workers(buffer->workers, WORKERS_MOST));
    release(&reading);
    return result;
}
