/* Batches lie in a ring. Each consumer has the number of its next batch; a batch is reused when all consumers passed
 * it. */
#include "analysis/engine/dispatcher.h"

#include "common/log.h"
#include "common/threads.h"

void dispatcher_init(struct dispatcher *dispatcher, unsigned workers)
{
    *dispatcher = (struct dispatcher){0};
    workers = ordered_loop_workers(workers, DISPATCHER_THREADS + DISPATCHER_OTHERS);
    if (workers > DISPATCHER_OTHERS)
        dispatcher->thread_count =
            workers - DISPATCHER_OTHERS < DISPATCHER_THREADS ? workers - DISPATCHER_OTHERS : DISPATCHER_THREADS;
    event_batches_init(&dispatcher->pool);
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
    event_batches_release(&dispatcher->pool);
}

static struct dispatcher_batch *batch_of(struct dispatcher *dispatcher, uint64_t number)
{
    return &dispatcher->batches[number % DISPATCHER_BATCHES];
}

void dispatcher_add(struct dispatcher *dispatcher, const struct dispatcher_consumer *consumer)
{
    for (unsigned category = 0; category < CATEGORY_COUNT; category++) {
        struct dispatcher_list *list = &dispatcher->of_category[category];
        if (category_in(category, consumer->categories))
            list->consumers[list->count++] = (unsigned char)dispatcher->consumer_count;
    }
    dispatcher->consumers[dispatcher->consumer_count++] = *consumer;
    if (dispatcher->thread_count > 0 && dispatcher->consumer_count == DISPATCHER_FEW)
        dispatcher->filling = event_batches_take(&dispatcher->pool); /* without memory, events are passed on at once */
}

/* --- batches; with the lock held --- */

/* Whether batch NUMBER can be passed to consumers. */
static bool is_there(struct dispatcher *dispatcher, uint64_t number)
{
    return number < dispatcher->filled && batch_of(dispatcher, number)->translated;
}

/* Advances the consumer behind its next batch, which it has read or has no use for. Recycles the batch after the last
 * consumer. */
static void pass(struct dispatcher *dispatcher, struct dispatcher_consumer *consumer)
{
    struct dispatcher_batch *batch = batch_of(dispatcher, consumer->next++);
    if (--batch->left > 0)
        return;
    event_batches_give_back(&dispatcher->pool, batch->events);
    dispatcher->done++; /* batches are done in order, because each consumer passes them in order */
    pthread_cond_signal(&dispatcher->space);
}

/* Advances the consumer behind batches that have no events of its categories. */
static void skip(struct dispatcher *dispatcher, struct dispatcher_consumer *consumer)
{
    while (!consumer->busy && is_there(dispatcher, consumer->next) &&
           !(batch_of(dispatcher, consumer->next)->events->categories & consumer->categories))
        pass(dispatcher, consumer);
}

static void skip_all(struct dispatcher *dispatcher)
{
    for (unsigned i = 0; i < dispatcher->consumer_count; i++)
        skip(dispatcher, &dispatcher->consumers[i]);
}

/* Returns the consumer that is furthest behind and whose next batch is ready. Returns NULL if no consumer has one. */
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

/* Returns the first batch that no thread has begun to translate, or NULL. */
static struct dispatcher_batch *find_untranslated(struct dispatcher *dispatcher)
{
    if (dispatcher->translating < dispatcher->done)
        dispatcher->translating = dispatcher->done; /* the ring has new batches in the place of done ones */
    while (dispatcher->translating < dispatcher->filled && batch_of(dispatcher, dispatcher->translating)->translated)
        dispatcher->translating++;
    return dispatcher->translating < dispatcher->filled ? batch_of(dispatcher, dispatcher->translating) : NULL;
}

static void wake_another(struct dispatcher *dispatcher)
{
    if (find_consumer(dispatcher) || find_untranslated(dispatcher))
        pthread_cond_signal(&dispatcher->more);
}

static void give(struct dispatcher *dispatcher, struct dispatcher_consumer *consumer)
{
    struct event_batch *batch = batch_of(dispatcher, consumer->next)->events;
    consumer->busy = true;
    wake_another(dispatcher);
    pthread_mutex_unlock(&dispatcher->lock);
    int status = consumer->take(consumer->context, event_batch_at(batch, 0), batch->count);
    pthread_mutex_lock(&dispatcher->lock);
    consumer->busy = false;
    if (status < 0) {
        dispatcher->failed = consumer->what;
        pthread_cond_signal(&dispatcher->space);
    }
    pass(dispatcher, consumer);
    skip(dispatcher, consumer);
}

/* Passes the next batch to a consumer, or translates a batch. Returns false if there is nothing to do, or after a
 * failure. */
static bool help(struct dispatcher *dispatcher)
{
    if (dispatcher->failed || dispatcher->stopping)
        return false;
    struct dispatcher_consumer *consumer = find_consumer(dispatcher);
    struct dispatcher_batch *untranslated = consumer ? NULL : find_untranslated(dispatcher);
    if (consumer)
        give(dispatcher, consumer);
    else if (untranslated) {
        dispatcher->translating++;
        wake_another(dispatcher);
        pthread_mutex_unlock(&dispatcher->lock);
        event_batch_translate(untranslated->events);
        pthread_mutex_lock(&dispatcher->lock);
        untranslated->translated = true;
        skip_all(dispatcher);
    }
    return consumer || untranslated;
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

/* Adds EVENTS to the ring, and waits until at most MOST batches are not done. Returns 0, or -1 after error(). */
static int pass_on(struct dispatcher *dispatcher, struct event_batch *events, uint64_t most)
{
    if (dispatcher->started == 0 && most > 0)
        dispatcher->started = threads_start(dispatcher->threads, dispatcher->thread_count, work, dispatcher);
    pthread_mutex_lock(&dispatcher->lock);
    *batch_of(dispatcher, dispatcher->filled++) = (struct dispatcher_batch){
        .events = events, .left = dispatcher->consumer_count, .translated = events->numbers.count == 0};
    skip_all(dispatcher);
    pthread_cond_signal(&dispatcher->more); /* the woken thread wakes the next one, so that the reader need not */
    /* Pass and translate batches until few enough are not done. */
    most = dispatcher->started > 0 ? most : 0;
    while (!dispatcher->failed && dispatcher->filled - dispatcher->done > most)
        if (!help(dispatcher))
            pthread_cond_wait(&dispatcher->space, &dispatcher->lock);
    bool failed = dispatcher->failed;
    pthread_mutex_unlock(&dispatcher->lock);
    return failed ? error_no_memory(dispatcher->failed) : 0;
}

/* Passes on the batch that the reader was filling, and begins a new batch. Returns 0, or -1 after error(). */
static int end_batch(struct dispatcher *dispatcher, uint64_t most)
{
    if (pass_on(dispatcher, dispatcher->filling, most) < 0)
        return -1;
    dispatcher->filling = event_batches_take(&dispatcher->pool);
    return dispatcher->filling ? 0 : error_no_memory("the trace's events");
}

struct event_fields *dispatcher_place(struct dispatcher *dispatcher)
{
    struct event_batch *batch = dispatcher->filling;
    return batch ? event_batch_place(batch) : &dispatcher->single;
}

int dispatcher_event(struct dispatcher *dispatcher, const struct event_fields *event)
{
    struct event_batch *batch = dispatcher->filling;
    if (!batch)
        return give_at_once(dispatcher, event);
    if (event != event_batch_place(batch))
        event_copy(event_batch_place(batch), event);
    event_batch_add(batch);
    return event_batch_is_full(batch) ? end_batch(dispatcher, DISPATCHER_BATCHES - 1) : 0;
}

int dispatcher_batch(struct dispatcher *dispatcher, struct event_batch *batch)
{
    if (dispatcher->filling && dispatcher->filling->count > 0 && end_batch(dispatcher, DISPATCHER_BATCHES - 1) < 0)
        return -1;
    if (dispatcher->filling)
        return pass_on(dispatcher, batch, DISPATCHER_BATCHES - 1);
    int status = 0;
    event_batch_translate(batch);
    const struct event_fields *event = event_batch_at(batch, 0);
    for (size_t i = 0; i < batch->count && status == 0; i++, event = event_after(event))
        status = give_at_once(dispatcher, event);
    event_batches_give_back(&dispatcher->pool, batch);
    return status;
}

int dispatcher_wait(struct dispatcher *dispatcher)
{
    int status = dispatcher->filling ? end_batch(dispatcher, 0) : 0;
    event_batches_trim(&dispatcher->pool);
    return status;
}
