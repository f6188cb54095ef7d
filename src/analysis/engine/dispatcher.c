#include "analysis/engine/dispatcher.h"

#include <stdlib.h>

#include "common/memory.h"
#include "common/log.h"
#include "common/threads.h"
#include "common/buffer.h"
#include "trace/event_fields.h"

struct dispatcher_batch {
    size_t count;
    unsigned categories; /* CATEGORY_BIT() of those that are in it */
    unsigned left;       /* consumers that have not had it */
    bool packed;         /* its runs are not among the events yet */
    struct batch_run {
        size_t first, count;   /* of the events that it will be */
        size_t bytes, numbers; /* where its own begin, in bytes */
    } runs[DISPATCHER_RUNS];
    size_t run_count;
    struct buffer bytes, numbers; /* the runs', one after another */
    struct event_fields events[DISPATCHER_EVENTS];
};

void dispatcher_init(struct dispatcher *dispatcher, unsigned workers)
{
    *dispatcher = (struct dispatcher){.single = event_nothing};
    workers = ordered_loop_workers(workers, DISPATCHER_THREADS + DISPATCHER_OTHERS);
    if (workers > DISPATCHER_OTHERS)
        dispatcher->thread_count =
            workers - DISPATCHER_OTHERS < DISPATCHER_THREADS ? workers - DISPATCHER_OTHERS : DISPATCHER_THREADS;
    pthread_mutex_init(&dispatcher->lock, NULL);
    pthread_cond_init(&dispatcher->more, NULL);
    pthread_cond_init(&dispatcher->space, NULL);
}

void dispatcher_release(struct dispatcher *dispatcher)
{
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->stopping = true;
    pthread_cond_broadcast(&dispatcher->more);
    pthread_mutex_unlock(&dispatcher->lock);
    for (unsigned i = 0; i < dispatcher->started; i++)
        pthread_join(dispatcher->threads[i], NULL);
    pthread_cond_destroy(&dispatcher->space);
    pthread_cond_destroy(&dispatcher->more);
    pthread_mutex_destroy(&dispatcher->lock);
    for (size_t i = 0; dispatcher->batches && i < DISPATCHER_BATCHES; i++) {
        buffer_release(&dispatcher->batches[i].bytes);
        buffer_release(&dispatcher->batches[i].numbers);
    }
    free(dispatcher->batches);
}

static struct dispatcher_batch *batch_of(const struct dispatcher *dispatcher, uint64_t number)
{
    return &dispatcher->batches[number % DISPATCHER_BATCHES];
}

static void begin_batch(struct dispatcher *dispatcher)
{
    dispatcher->filling = dispatcher->batches ? batch_of(dispatcher, dispatcher->filled) : NULL;
    if (!dispatcher->filling)
        return;
    dispatcher->filling->count = dispatcher->filling->categories = 0;
    dispatcher->filling->run_count = dispatcher->filling->bytes.length = dispatcher->filling->numbers.length = 0;
}

void dispatcher_add(struct dispatcher *dispatcher, const struct dispatcher_consumer *consumer)
{
    for (unsigned category = 0; category < CATEGORY_COUNT; category++) {
        struct dispatcher_list *list = &dispatcher->of_category[category];
        if (category_in(category, consumer->categories))
            list->consumers[list->count++] = (unsigned char)dispatcher->consumer_count;
    }
    dispatcher->consumers[dispatcher->consumer_count++] = *consumer;
    if (dispatcher->thread_count > 0 && dispatcher->consumer_count == DISPATCHER_FEW) {
        /* Without memory for batches events are given at once. */
        dispatcher->batches = huge_page_alloc(DISPATCHER_BATCHES * sizeof(*dispatcher->batches));
        for (size_t i = 0; dispatcher->batches && i < DISPATCHER_BATCHES; i++) {
            struct dispatcher_batch *batch = &dispatcher->batches[i];
            buffer_init_memory(&batch->bytes);
            buffer_init_memory(&batch->numbers);
            for (size_t k = 0; k < DISPATCHER_EVENTS; k++)
                batch->events[k] = event_nothing;
        }
        begin_batch(dispatcher);
    }
}

/* --- batches; with the lock held --- */

/* Whether batch NUMBER can be given. */
static bool is_there(const struct dispatcher *dispatcher, uint64_t number)
{
    return number < dispatcher->filled && !batch_of(dispatcher, number)->packed;
}

/* The consumer has had its next batch, or wants nothing of it. */
static void pass(struct dispatcher *dispatcher, struct dispatcher_consumer *consumer)
{
    if (--batch_of(dispatcher, consumer->next++)->left > 0)
        return;
    dispatcher->done++; /* in their order, for none is passed before those in front of it */
    pthread_cond_signal(&dispatcher->space);
}

/* The consumer passes what it wants nothing of. */
static void skip(struct dispatcher *dispatcher, struct dispatcher_consumer *consumer)
{
    while (!consumer->busy && is_there(dispatcher, consumer->next) &&
           !(batch_of(dispatcher, consumer->next)->categories & consumer->categories))
        pass(dispatcher, consumer);
}

static void skip_all(struct dispatcher *dispatcher)
{
    for (unsigned i = 0; i < dispatcher->consumer_count; i++)
        skip(dispatcher, &dispatcher->consumers[i]);
}

/* The consumer that is furthest behind of those that can be given a batch; NULL: there is none. */
static struct dispatcher_consumer *find_consumer(struct dispatcher *dispatcher)
{
    struct dispatcher_consumer *found = NULL;
    for (unsigned i = 0; i < dispatcher->consumer_count; i++) {
        struct dispatcher_consumer *consumer = &dispatcher->consumers[i];
        if (!consumer->busy && is_there(dispatcher, consumer->next) && (!found || consumer->next < found->next))
            found = consumer;
    }
    return found;
}

/* The first batch of whose runs nobody has begun to make events; NULL: there is none. */
static struct dispatcher_batch *find_packed(struct dispatcher *dispatcher)
{
    if (dispatcher->unpacking < dispatcher->done)
        dispatcher->unpacking = dispatcher->done; /* others are in the place of those by now */
    while (dispatcher->unpacking < dispatcher->filled && !batch_of(dispatcher, dispatcher->unpacking)->packed)
        dispatcher->unpacking++;
    return dispatcher->unpacking < dispatcher->filled ? batch_of(dispatcher, dispatcher->unpacking) : NULL;
}

static void wake_another(struct dispatcher *dispatcher)
{
    if (find_consumer(dispatcher) || find_packed(dispatcher))
        pthread_cond_signal(&dispatcher->more);
}

static void unpack(struct dispatcher *dispatcher, struct dispatcher_batch *batch)
{
    dispatcher->unpacking++;
    wake_another(dispatcher);
    pthread_mutex_unlock(&dispatcher->lock);
    for (size_t i = 0; i < batch->run_count; i++) {
        const struct batch_run *run = &batch->runs[i];
        const char *at = batch->bytes.data + run->bytes;
        const uint32_t *numbers = (const uint32_t *)(const void *)(batch->numbers.data + run->numbers);
        for (size_t k = 0; k < run->count; k++)
            at = event_run_take(at, numbers, &batch->events[run->first + k]);
    }
    pthread_mutex_lock(&dispatcher->lock);
    batch->packed = false;
    skip_all(dispatcher);
}

static void give(struct dispatcher *dispatcher, struct dispatcher_consumer *consumer)
{
    const struct dispatcher_batch *batch = batch_of(dispatcher, consumer->next);
    consumer->busy = true;
    wake_another(dispatcher);
    pthread_mutex_unlock(&dispatcher->lock);
    int status = consumer->take(consumer->context, batch->events, batch->count);
    pthread_mutex_lock(&dispatcher->lock);
    consumer->busy = false;
    if (status < 0) {
        dispatcher->failed = consumer->what;
        pthread_cond_signal(&dispatcher->space);
    }
    pass(dispatcher, consumer);
    skip(dispatcher, consumer);
}

/* Gives a consumer its next batch, or makes events of one. False: there is nothing to be done, or no use in it. */
static bool help(struct dispatcher *dispatcher)
{
    if (dispatcher->failed || dispatcher->stopping)
        return false;
    struct dispatcher_consumer *consumer = find_consumer(dispatcher);
    struct dispatcher_batch *packed = consumer ? NULL : find_packed(dispatcher);
    if (consumer)
        give(dispatcher, consumer);
    else if (packed)
        unpack(dispatcher, packed);
    return consumer || packed;
}

static void *work(void *context)
{
    struct dispatcher *dispatcher = context;
    pthread_mutex_lock(&dispatcher->lock);
    while (!dispatcher->stopping)
        if (!help(dispatcher))
            pthread_cond_wait(&dispatcher->more, &dispatcher->lock);
    pthread_mutex_unlock(&dispatcher->lock);
    return NULL;
}

/* Helps until there are no more than MOST batches that not all have had. The reader's is a new one then. */
static int wait_for(struct dispatcher *dispatcher, uint64_t most)
{
    while (!dispatcher->failed && dispatcher->filled - dispatcher->done > most)
        if (!help(dispatcher))
            pthread_cond_wait(&dispatcher->space, &dispatcher->lock);
    if (dispatcher->failed)
        return -1;
    begin_batch(dispatcher);
    return 0;
}

/* --- */

static int give_at_once(struct dispatcher *dispatcher, const struct event_fields *event)
{
    const struct dispatcher_list *list = &dispatcher->of_category[event->category];
    for (unsigned i = 0; i < list->count; i++) {
        const struct dispatcher_consumer *consumer = &dispatcher->consumers[list->consumers[i]];
        if (consumer->take(consumer->context, event, 1) < 0)
            return error_no_memory(consumer->what);
    }
    return 0;
}

static int end_batch(struct dispatcher *dispatcher, uint64_t most)
{
    if (dispatcher->started == 0 && most > 0)
        dispatcher->started = threads_start(dispatcher->threads, dispatcher->thread_count, work, dispatcher);
    pthread_mutex_lock(&dispatcher->lock);
    /* The reader's batch is full, or the last for now. */
    struct dispatcher_batch *batch = batch_of(dispatcher, dispatcher->filled++);
    batch->left = dispatcher->consumer_count;
    batch->packed = batch->run_count > 0;
    skip_all(dispatcher);
    pthread_cond_signal(&dispatcher->more); /* who wakes up wakes the next one, which is not the reader's time */
    int status = wait_for(dispatcher, dispatcher->started > 0 ? most : 0);
    pthread_mutex_unlock(&dispatcher->lock);
    return status < 0 ? error_no_memory(dispatcher->failed) : 0;
}

struct event_fields *dispatcher_place(struct dispatcher *dispatcher)
{
    struct dispatcher_batch *batch = dispatcher->filling;
    return batch ? &batch->events[batch->count] : &dispatcher->single;
}

int dispatcher_event(struct dispatcher *dispatcher, const struct event_fields *event)
{
    struct dispatcher_batch *batch = dispatcher->filling;
    if (!batch)
        return give_at_once(dispatcher, event);
    if (event != &batch->events[batch->count])
        event_copy(&batch->events[batch->count], event);
    batch->categories |= CATEGORY_BIT(event->category);
    return ++batch->count == DISPATCHER_EVENTS ? end_batch(dispatcher, DISPATCHER_BATCHES - 1) : 0;
}

/* --- runs --- */

static int put_run(struct dispatcher_batch *batch, const struct event_run *run)
{
    batch->runs[batch->run_count++] = (struct batch_run){
        .first = batch->count, .count = run->count, .bytes = batch->bytes.length, .numbers = batch->numbers.length};
    buffer_bytes(&batch->bytes, run->bytes, run->size);
    buffer_bytes(&batch->numbers, run->numbers, run->number_count * sizeof(*run->numbers));
    if (batch->bytes.failure || batch->numbers.failure)
        return error_no_memory("the trace's events");
    batch->count += run->count;
    batch->categories |= run->categories;
    return 0;
}

int dispatcher_run(struct dispatcher *dispatcher, const struct event_run *run)
{
    if (!dispatcher->filling) {
        const char *at = run->bytes;
        int status = 0;
        for (size_t i = 0; i < run->count && status == 0; i++) {
            at = event_run_take(at, run->numbers, &dispatcher->single);
            status = give_at_once(dispatcher, &dispatcher->single);
        }
        return status;
    }
    bool has_space = dispatcher->filling->count + run->count <= DISPATCHER_EVENTS &&
                     dispatcher->filling->run_count < DISPATCHER_RUNS;
    if (!has_space && end_batch(dispatcher, DISPATCHER_BATCHES - 1) < 0)
        return -1;
    if (put_run(dispatcher->filling, run) < 0)
        return -1;
    return dispatcher->filling->count == DISPATCHER_EVENTS ? end_batch(dispatcher, DISPATCHER_BATCHES - 1) : 0;
}

int dispatcher_wait(struct dispatcher *dispatcher)
{
    return dispatcher->filling ? end_batch(dispatcher, 0) : 0;
}
