#include "analysis/handout.h"

#include <stdlib.h>

#include "common/large.h"
#include "common/log.h"
#include "common/pieces.h"
#include "common/sink.h"
#include "common/threads.h"
#include "trace/trace_event.h"

struct handout_pack {
    size_t count;
    unsigned categories; /* EVENT_BIT() of those that are in it */
    unsigned left;       /* takers that have not had it */
    bool packed;         /* its runs are not among the events yet */
    struct packed_run {
        size_t first, count;   /* of the events that it will be */
        size_t bytes, numbers; /* where its own begin, in bytes */
    } runs[HANDOUT_RUNS];
    size_t run_count;
    struct sink bytes, numbers; /* the runs', one after another */
    struct trace_event events[HANDOUT_EVENTS];
};

void handout_init(struct handout *handout, unsigned workers)
{
    *handout = (struct handout){.single = event_nothing};
    workers = pieces_workers(workers, HANDOUT_THREADS + HANDOUT_OTHERS);
    if (workers > HANDOUT_OTHERS)
        handout->thread_count = workers - HANDOUT_OTHERS < HANDOUT_THREADS ? workers - HANDOUT_OTHERS : HANDOUT_THREADS;
    pthread_mutex_init(&handout->lock, NULL);
    pthread_cond_init(&handout->more, NULL);
    pthread_cond_init(&handout->room, NULL);
}

void handout_release(struct handout *handout)
{
    pthread_mutex_lock(&handout->lock);
    handout->stopping = true;
    pthread_cond_broadcast(&handout->more);
    pthread_mutex_unlock(&handout->lock);
    for (unsigned i = 0; i < handout->started; i++)
        pthread_join(handout->threads[i], NULL);
    pthread_cond_destroy(&handout->room);
    pthread_cond_destroy(&handout->more);
    pthread_mutex_destroy(&handout->lock);
    for (size_t i = 0; handout->packs && i < HANDOUT_PACKS; i++) {
        sink_release(&handout->packs[i].bytes);
        sink_release(&handout->packs[i].numbers);
    }
    free(handout->packs);
}

static struct handout_pack *pack_of(const struct handout *handout, uint64_t number)
{
    return &handout->packs[number % HANDOUT_PACKS];
}

static void begin_pack(struct handout *handout)
{
    handout->filling = handout->packs ? pack_of(handout, handout->filled) : NULL;
    if (!handout->filling)
        return;
    handout->filling->count = handout->filling->categories = 0;
    handout->filling->run_count = handout->filling->bytes.length = handout->filling->numbers.length = 0;
}

/* Without memory for packs events are given at once. */
static void make_packs(struct handout *handout)
{
    handout->packs = large_alloc(HANDOUT_PACKS * sizeof(*handout->packs));
    for (size_t i = 0; handout->packs && i < HANDOUT_PACKS; i++) {
        struct handout_pack *pack = &handout->packs[i];
        sink_init_memory(&pack->bytes);
        sink_init_memory(&pack->numbers);
        for (size_t k = 0; k < HANDOUT_EVENTS; k++)
            pack->events[k] = event_nothing;
    }
    begin_pack(handout);
}

void handout_add(struct handout *handout, const struct handout_taker *taker)
{
    for (unsigned category = 0; category < EVENT_CATEGORY_COUNT; category++) {
        struct handout_list *list = &handout->of_category[category];
        if (event_category_in(category, taker->categories))
            list->takers[list->count++] = (unsigned char)handout->taker_count;
    }
    handout->takers[handout->taker_count++] = *taker;
    if (handout->thread_count > 0 && handout->taker_count == HANDOUT_FEW)
        make_packs(handout);
}

/* --- packs; with the lock held --- */

/* Whether pack NUMBER can be given. */
static bool is_there(const struct handout *handout, uint64_t number)
{
    return number < handout->filled && !pack_of(handout, number)->packed;
}

/* The taker has had its next pack, or wants nothing of it. */
static void pass(struct handout *handout, struct handout_taker *taker)
{
    if (--pack_of(handout, taker->next++)->left > 0)
        return;
    handout->done++; /* in their order, for none is passed before those in front of it */
    pthread_cond_signal(&handout->room);
}

/* The taker passes what it wants nothing of. */
static void skip(struct handout *handout, struct handout_taker *taker)
{
    while (!taker->busy && is_there(handout, taker->next) &&
           !(pack_of(handout, taker->next)->categories & taker->categories))
        pass(handout, taker);
}

static void skip_all(struct handout *handout)
{
    for (unsigned i = 0; i < handout->taker_count; i++)
        skip(handout, &handout->takers[i]);
}

/* The taker that is furthest behind of those that can be given a pack; NULL: there is none. */
static struct handout_taker *find_taker(struct handout *handout)
{
    struct handout_taker *found = NULL;
    for (unsigned i = 0; i < handout->taker_count; i++) {
        struct handout_taker *taker = &handout->takers[i];
        if (!taker->busy && is_there(handout, taker->next) && (!found || taker->next < found->next))
            found = taker;
    }
    return found;
}

/* The first pack of whose runs nobody has begun to make events; NULL: there is none. */
static struct handout_pack *find_packed(struct handout *handout)
{
    if (handout->unpacking < handout->done)
        handout->unpacking = handout->done; /* others are in the place of those by now */
    while (handout->unpacking < handout->filled && !pack_of(handout, handout->unpacking)->packed)
        handout->unpacking++;
    return handout->unpacking < handout->filled ? pack_of(handout, handout->unpacking) : NULL;
}

static void wake_another(struct handout *handout)
{
    if (find_taker(handout) || find_packed(handout))
        pthread_cond_signal(&handout->more);
}

static void make_events(struct handout_pack *pack)
{
    for (size_t i = 0; i < pack->run_count; i++) {
        const struct packed_run *run = &pack->runs[i];
        const char *at = pack->bytes.data + run->bytes;
        const uint32_t *numbers = (const uint32_t *)(const void *)(pack->numbers.data + run->numbers);
        for (size_t k = 0; k < run->count; k++)
            at = event_run_take(at, numbers, &pack->events[run->first + k]);
    }
}

static void unpack(struct handout *handout, struct handout_pack *pack)
{
    handout->unpacking++;
    wake_another(handout);
    pthread_mutex_unlock(&handout->lock);
    make_events(pack);
    pthread_mutex_lock(&handout->lock);
    pack->packed = false;
    skip_all(handout);
}

static void give(struct handout *handout, struct handout_taker *taker)
{
    const struct handout_pack *pack = pack_of(handout, taker->next);
    taker->busy = true;
    wake_another(handout);
    pthread_mutex_unlock(&handout->lock);
    int status = taker->take(taker->context, pack->events, pack->count);
    pthread_mutex_lock(&handout->lock);
    taker->busy = false;
    if (status < 0) {
        handout->failed = taker->what;
        pthread_cond_signal(&handout->room);
    }
    pass(handout, taker);
    skip(handout, taker);
}

/* Gives a taker its next pack, or makes events of one. False: there is nothing to be done, or no use in it. */
static bool help(struct handout *handout)
{
    if (handout->failed || handout->stopping)
        return false;
    struct handout_taker *taker = find_taker(handout);
    struct handout_pack *packed = taker ? NULL : find_packed(handout);
    if (taker)
        give(handout, taker);
    else if (packed)
        unpack(handout, packed);
    return taker || packed;
}

static void *work(void *context)
{
    struct handout *handout = context;
    pthread_mutex_lock(&handout->lock);
    while (!handout->stopping)
        if (!help(handout))
            pthread_cond_wait(&handout->more, &handout->lock);
    pthread_mutex_unlock(&handout->lock);
    return NULL;
}

/* The reader's pack is full, or the last for now. */
static void hand_on(struct handout *handout)
{
    struct handout_pack *pack = pack_of(handout, handout->filled++);
    pack->left = handout->taker_count;
    pack->packed = pack->run_count > 0;
    skip_all(handout);
    pthread_cond_signal(&handout->more); /* who wakes up wakes the next one, which is not the reader's time */
}

/* Helps until there are no more than MOST packs that not all have had. The reader's is a new one then. */
static int wait_for(struct handout *handout, uint64_t most)
{
    while (!handout->failed && handout->filled - handout->done > most)
        if (!help(handout))
            pthread_cond_wait(&handout->room, &handout->lock);
    if (handout->failed)
        return -1;
    begin_pack(handout);
    return 0;
}

/* --- */

static int give_at_once(struct handout *handout, const struct trace_event *event)
{
    const struct handout_list *list = &handout->of_category[event->category];
    for (unsigned i = 0; i < list->count; i++) {
        const struct handout_taker *taker = &handout->takers[list->takers[i]];
        if (taker->take(taker->context, event, 1) < 0)
            return error_no_memory(taker->what);
    }
    return 0;
}

static int end_pack(struct handout *handout, uint64_t most)
{
    if (handout->started == 0 && most > 0)
        handout->started = threads_start(handout->threads, handout->thread_count, work, handout);
    pthread_mutex_lock(&handout->lock);
    hand_on(handout);
    int status = wait_for(handout, handout->started > 0 ? most : 0);
    pthread_mutex_unlock(&handout->lock);
    return status < 0 ? error_no_memory(handout->failed) : 0;
}

struct trace_event *handout_place(struct handout *handout)
{
    struct handout_pack *pack = handout->filling;
    return pack ? &pack->events[pack->count] : &handout->single;
}

int handout_event(struct handout *handout, const struct trace_event *event)
{
    struct handout_pack *pack = handout->filling;
    if (!pack)
        return give_at_once(handout, event);
    if (event != &pack->events[pack->count])
        event_copy(&pack->events[pack->count], event);
    pack->categories |= EVENT_BIT(event->category);
    return ++pack->count == HANDOUT_EVENTS ? end_pack(handout, HANDOUT_PACKS - 1) : 0;
}

/* --- runs --- */

static int run_at_once(struct handout *handout, const struct event_run *run)
{
    const char *at = run->bytes;
    int status = 0;
    for (size_t i = 0; i < run->count && status == 0; i++) {
        at = event_run_take(at, run->numbers, &handout->single);
        status = give_at_once(handout, &handout->single);
    }
    return status;
}

static int put_run(struct handout_pack *pack, const struct event_run *run)
{
    pack->runs[pack->run_count++] = (struct packed_run){
        .first = pack->count, .count = run->count, .bytes = pack->bytes.length, .numbers = pack->numbers.length};
    sink_bytes(&pack->bytes, run->bytes, run->size);
    sink_bytes(&pack->numbers, run->numbers, run->number_count * sizeof(*run->numbers));
    if (pack->bytes.failure || pack->numbers.failure)
        return error_no_memory("the trace's events");
    pack->count += run->count;
    pack->categories |= run->categories;
    return 0;
}

int handout_run(struct handout *handout, const struct event_run *run)
{
    if (!handout->filling)
        return run_at_once(handout, run);
    bool has_room =
        handout->filling->count + run->count <= HANDOUT_EVENTS && handout->filling->run_count < HANDOUT_RUNS;
    if (!has_room && end_pack(handout, HANDOUT_PACKS - 1) < 0)
        return -1;
    if (put_run(handout->filling, run) < 0)
        return -1;
    return handout->filling->count == HANDOUT_EVENTS ? end_pack(handout, HANDOUT_PACKS - 1) : 0;
}

int handout_wait(struct handout *handout)
{
    return handout->filling ? end_pack(handout, 0) : 0;
}
