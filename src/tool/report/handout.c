#include "tool/report/handout.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/pieces.h"
#include "base/threads.h"
#include "tool/report/event_fields.h"

struct handout_pack {
    size_t count;
    unsigned categories; /* EVENT_BIT() of those that are in it */
    unsigned left;       /* takers that have not had it */
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
    free(handout->packs);
}

static struct handout_pack *pack_of(const struct handout *handout, uint64_t number)
{
    return &handout->packs[number % HANDOUT_PACKS];
}

static void begin_pack(struct handout *handout)
{
    handout->filling = handout->packs ? pack_of(handout, handout->filled) : NULL;
    if (handout->filling)
        handout->filling->count = handout->filling->categories = 0;
}

/* Without memory for packs events are given at once. */
static void make_packs(struct handout *handout)
{
    handout->packs = malloc(HANDOUT_PACKS * sizeof(*handout->packs));
    for (size_t i = 0; handout->packs && i < HANDOUT_PACKS * HANDOUT_EVENTS; i++)
        handout->packs[i / HANDOUT_EVENTS].events[i % HANDOUT_EVENTS] = event_nothing;
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
    while (!taker->busy && taker->next < handout->filled &&
           !(pack_of(handout, taker->next)->categories & taker->categories))
        pass(handout, taker);
}

/* The taker that is furthest behind of those that can be given a pack; NULL: there is none. */
static struct handout_taker *find_taker(struct handout *handout)
{
    struct handout_taker *found = NULL;
    for (unsigned i = 0; i < handout->taker_count; i++) {
        struct handout_taker *taker = &handout->takers[i];
        if (!taker->busy && taker->next < handout->filled && (!found || taker->next < found->next))
            found = taker;
    }
    return found;
}

/* Gives a taker its next pack. False: there is nothing to be done, or no use in it. */
static bool give(struct handout *handout)
{
    struct handout_taker *taker = handout->failed || handout->stopping ? NULL : find_taker(handout);
    if (!taker)
        return false;
    const struct handout_pack *pack = pack_of(handout, taker->next);
    taker->busy = true;
    if (find_taker(handout))
        pthread_cond_signal(&handout->more);
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
    return true;
}

static void *work(void *context)
{
    struct handout *handout = context;
    pthread_mutex_lock(&handout->lock);
    while (!handout->stopping)
        if (!give(handout))
            pthread_cond_wait(&handout->more, &handout->lock);
    pthread_mutex_unlock(&handout->lock);
    return NULL;
}

/* The reader's pack is full, or the last for now. */
static void hand_on(struct handout *handout)
{
    pack_of(handout, handout->filled++)->left = handout->taker_count;
    for (unsigned i = 0; i < handout->taker_count; i++)
        skip(handout, &handout->takers[i]);
    pthread_cond_signal(&handout->more); /* who wakes up wakes the next one, which is not the reader's time */
}

/* Helps until there are no more than MOST packs that not all have had. The reader's is a new one then. */
static int wait_for(struct handout *handout, uint64_t most)
{
    while (!handout->failed && handout->filled - handout->done > most)
        if (!give(handout))
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

int handout_wait(struct handout *handout)
{
    return handout->filling ? end_pack(handout, 0) : 0;
}
