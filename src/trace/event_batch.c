/*
 * The pool of batches: the one that was given back last is lent next, so that few of them are in use.
 */
#include "trace/event_batch.h"

#include <stdlib.h>
#include <sys/mman.h>

/* More are kept only as long as they are lent, and of records no more bytes than the usual piece has. */
#define FREE_MOST 16
#define BATCH_SIZE (sizeof(struct event_batch) + EVENT_BATCH_BYTES)
#define RECORD_BYTES_MOST ((size_t)256 * 1024)

void event_batches_init(struct event_batches *batches)
{
    *batches = (struct event_batches){0};
    pthread_mutex_init(&batches->lock, NULL);
}

static void free_batch(struct event_batch *batch)
{
    buffer_release(&batch->records);
    array_release(&batch->numbers);
    munmap(batch, BATCH_SIZE);
}

static void free_list(struct event_batch *batch)
{
    while (batch) {
        struct event_batch *after = batch->after;
        free_batch(batch);
        batch = after;
    }
}

void event_batches_trim(struct event_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    free_list(batches->free);
    batches->free = NULL;
    batches->free_count = 0;
    pthread_mutex_unlock(&batches->lock);
}

void event_batches_release(struct event_batches *batches)
{
    free_list(batches->lent);
    free_list(batches->free);
    pthread_mutex_destroy(&batches->lock);
}

/* Not of malloc(), which would keep the memory for the thread that a batch was made by. */
static struct event_batch *make_batch(void)
{
    struct event_batch *batch = mmap(NULL, BATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (batch == MAP_FAILED)
        return NULL;
    buffer_init_memory(&batch->records);
    return batch;
}

struct event_batch *event_batches_take(struct event_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    struct event_batch *batch = batches->free;
    if (batch) {
        batches->free = batch->after;
        batches->free_count--;
    }
    pthread_mutex_unlock(&batches->lock);
    batch = batch ?: make_batch();
    if (!batch)
        return NULL;
    batch->count = batch->used = batch->categories = 0;
    batch->begins_piece = false;
    batch->numbers.count = batch->records.length = 0;
    if (batch->records.failure || batch->records.capacity > RECORD_BYTES_MOST)
        buffer_release(&batch->records);
    pthread_mutex_lock(&batches->lock);
    batch->before = NULL;
    batch->after = batches->lent;
    if (batch->after)
        batch->after->before = batch;
    batches->lent = batch;
    pthread_mutex_unlock(&batches->lock);
    return batch;
}

void event_batches_give_back(struct event_batches *batches, struct event_batch *batch)
{
    pthread_mutex_lock(&batches->lock);
    if (batch->before)
        batch->before->after = batch->after;
    else
        batches->lent = batch->after;
    if (batch->after)
        batch->after->before = batch->before;
    bool kept = batches->free_count < FREE_MOST;
    if (kept) {
        batch->after = batches->free;
        batches->free = batch;
        batches->free_count++;
    }
    pthread_mutex_unlock(&batches->lock);
    if (!kept)
        free_batch(batch);
}

void event_batch_translate(struct event_batch *batch)
{
    size_t size;
    for (size_t at = 0; at < batch->used && batch->numbers.count > 0; at += size) {
        struct event_fields *event = event_batch_at(batch, at);
        size = event_size(event);
        event_translate(event, batch->numbers.items);
    }
    batch->numbers.count = 0;
}
