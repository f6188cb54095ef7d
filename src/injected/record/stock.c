#include "injected/record/stock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "injected/record/segments.h"
#include "injected/record/spool_file.h"
#include "injected/record/thread.h"

#define STOCK_MAX 64u
#define STOCK_START 2u  /* fresh segments kept ready at first */
#define STOCK_LIMIT 16u /* and when they go fast */

/* After a refusal the file is not asked to grow for so long, twice as long after each further one. */
#define REST_MIN (100 * NS_PER_MS)
#define REST_MAX (2 * NS_PER_S)

static struct stock {
    pthread_mutex_t lock;
    pthread_cond_t low;                    /* for our thread */
    pthread_cond_t filled;                 /* by it */
    struct spool_chunk *chunks[STOCK_MAX]; /* ready ones, fresh and left over */
    unsigned count;
    unsigned fresh_wanted;
    bool closed;         /* for good */
    bool served;         /* by our thread, which can grow the file though the program closed it */
    int failure;         /* errno of the last growth */
    uint64_t rest;       /* ns, 0: the last growth went well; read without the lock, as is … */
    uint64_t rest_until; /* … CLOCK_MONOTONIC */
} stock = {.lock = PTHREAD_MUTEX_INITIALIZER, .low = PTHREAD_COND_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static unsigned fresh_count(void)
{
    unsigned fresh = 0;
    for (unsigned i = 0; i < stock.count; i++)
        fresh += stock.chunks[i]->bytes == SPOOL_SEGMENT_BYTES;
    return fresh;
}

/* Whether the chunk's segment is for TYPE, or for nothing yet. */
static bool suits(const struct spool_chunk *chunk, enum spool_chunk_type type)
{
    enum spool_chunk_type purpose = segment_purpose(chunk);
    return purpose == type || purpose == SPOOL_FREE;
}

/* The smallest ready chunk that is large enough: rests go before fresh ones. ANY: also of a segment that is for others.
 * Under the lock. */
static struct spool_chunk *pick(enum spool_chunk_type type, bool any)
{
    unsigned best = STOCK_MAX;
    for (unsigned i = 0; i < stock.count; i++) {
        bool fits = stock.chunks[i]->bytes >= stock_least_bytes(type) && (any || suits(stock.chunks[i], type));
        if (fits && (best == STOCK_MAX || stock.chunks[i]->bytes < stock.chunks[best]->bytes))
            best = i;
    }
    if (best == STOCK_MAX)
        return NULL;
    struct spool_chunk *chunk = stock.chunks[best];
    stock.chunks[best] = stock.chunks[--stock.count];
    if (segment_purpose(chunk) == SPOOL_FREE)
        segment_set_purpose(chunk, type);
    return chunk;
}

/* --- what was drained is used again --- */

static void lock_stock(void)
{
    pthread_mutex_lock(&stock.lock);
}

static void unlock_stock(void)
{
    pthread_mutex_unlock(&stock.lock);
}

static bool is_in(const struct spool_chunk *chunk, const char *segment)
{
    return (const char *)chunk >= segment && (const char *)chunk < segment + SPOOL_SEGMENT_BYTES;
}

static unsigned count_of_segment(const char *segment)
{
    unsigned count = 0;
    for (unsigned i = 0; i < stock.count; i++)
        count += is_in(stock.chunks[i], segment);
    return count;
}

static void forget_segment(const char *segment)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < stock.count; i++)
        if (!is_in(stock.chunks[i], segment))
            stock.chunks[kept++] = stock.chunks[i];
    stock.count = kept;
}

static const struct segment_keeper keeper = {lock_stock, unlock_stock, count_of_segment, forget_segment};

/* --- chunks are put here --- */

/* Keeps CHUNK for later; the caller drops it when there is no room for it here. Under the lock. */
static bool keep(struct spool_chunk *chunk)
{
    if (stock.count == STOCK_MAX || stock.closed)
        return false;
    stock.chunks[stock.count++] = chunk;
    return true;
}

void stock_put(struct spool_chunk *chunk)
{
    if (!chunk)
        return;
    pthread_mutex_lock(&stock.lock);
    bool kept = keep(chunk);
    pthread_mutex_unlock(&stock.lock);
    if (!kept)
        segment_drop(chunk);
}

/* --- the file grows --- */

/* Who grows the file next waits: a disk that is full is slow to say so, and every record of every thread would ask. */
static void take_rest(void)
{
    pthread_mutex_lock(&stock.lock);
    uint64_t last = __atomic_load_n(&stock.rest, __ATOMIC_RELAXED);
    uint64_t rest = last == 0 ? REST_MIN : last * 2 < REST_MAX ? last * 2 : REST_MAX;
    __atomic_store_n(&stock.rest_until, clock_monotonic() + rest, __ATOMIC_RELAXED);
    __atomic_store_n(&stock.rest, rest, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&stock.lock);
}

static struct spool_chunk *grow(void)
{
    struct spool_chunk *chunk = spool_file_grow();
    if (chunk) {
        __atomic_store_n(&stock.rest, 0, __ATOMIC_RELAXED);
        return chunk;
    }
    __atomic_store_n(&stock.failure, errno, __ATOMIC_RELAXED);
    if (errno != EBADF)
        take_rest();
    return NULL;
}

int stock_failure(void)
{
    return __atomic_load_n(&stock.failure, __ATOMIC_RELAXED);
}

static bool resting(void)
{
    return __atomic_load_n(&stock.rest, __ATOMIC_RELAXED) != 0 &&
           clock_monotonic() < __atomic_load_n(&stock.rest_until, __ATOMIC_RELAXED);
}

/* A blank segment, or NULL. */
static struct spool_chunk *fresh(void)
{
    struct spool_chunk *chunk = segments_reclaim(&keeper);
    return chunk || resting() ? chunk : grow();
}

/* --- chunks are taken --- */

/* Our thread is at it. */
static struct spool_chunk *wait_for_stock(enum spool_chunk_type type)
{
    struct timespec limit;
    struct spool_chunk *chunk = NULL;
    int result = 0;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 1;
    pthread_mutex_lock(&stock.lock);
    while (__atomic_load_n(&stock.served, __ATOMIC_RELAXED) && !resting() && result == 0 &&
           !(chunk = pick(type, false))) {
        pthread_cond_signal(&stock.low);
        result = pthread_cond_clockwait(&stock.filled, &stock.lock, CLOCK_MONOTONIC, &limit);
    }
    pthread_mutex_unlock(&stock.lock);
    return chunk;
}

static struct spool_chunk *take_ready(enum spool_chunk_type type)
{
    pthread_mutex_lock(&stock.lock);
    struct spool_chunk *chunk = pick(type, false);
    unsigned left = fresh_count();
    if (left == 0 && stock.fresh_wanted < STOCK_LIMIT)
        stock.fresh_wanted *= 2;
    bool low = left < stock.fresh_wanted;
    pthread_mutex_unlock(&stock.lock);
    if (low)
        pthread_cond_signal(&stock.low);
    return chunk;
}

static struct spool_chunk *take_last_resort(enum spool_chunk_type type)
{
    pthread_mutex_lock(&stock.lock);
    struct spool_chunk *chunk = pick(type, true);
    pthread_mutex_unlock(&stock.lock);
    return chunk;
}

struct spool_chunk *stock_take(enum spool_chunk_type type)
{
    struct spool_chunk *chunk = take_ready(type);
    if (!chunk && (chunk = fresh()))
        segment_set_purpose(chunk, type);
    else if (!chunk && stock_failure() == EBADF)
        chunk = wait_for_stock(type);
    return chunk ? chunk : take_last_resort(type);
}

/* --- our thread --- */

/* Keeps fresh segments in stock. */
static void *stock_up(void *unused)
{
    (void)unused;
    thread_become_ours("gputrace-spool");
    bool own = false; /* descriptors, since they were needed: the call is one that few programs make */
    for (;;) {
        pthread_mutex_lock(&stock.lock);
        while (!stock.closed && (fresh_count() >= stock.fresh_wanted || stock.count == STOCK_MAX))
            pthread_cond_wait(&stock.low, &stock.lock);
        bool closed = stock.closed;
        pthread_mutex_unlock(&stock.lock);
        if (closed)
            return NULL;
        struct spool_chunk *chunk = fresh();
        stock_put(chunk);
        if (!chunk && !own && stock_failure() == EBADF) {
            own = true;
            __atomic_store_n(&stock.served, spool_file_own_descriptors() == 0, __ATOMIC_RELAXED);
            continue;
        }
        pthread_cond_broadcast(&stock.filled);
        if (!chunk)
            usleep(REST_MIN / NS_PER_US);
    }
    return NULL;
}

void stock_open(struct spool_chunk *first)
{
    stock.fresh_wanted = STOCK_START;
    stock_put(first);
    __atomic_store_n(&stock.served, true, __ATOMIC_RELAXED);
    if (thread_start(stock_up, NULL) == 0)
        return;
    __atomic_store_n(&stock.served, false, __ATOMIC_RELAXED);
    verbose("no thread for the spool (%m): it grows when it is asked to");
}

void stock_close(void)
{
    struct spool_chunk *chunk;
    do {
        pthread_mutex_lock(&stock.lock);
        stock.closed = true;
        chunk = stock.count > 0 ? stock.chunks[--stock.count] : NULL;
        pthread_mutex_unlock(&stock.lock);
        if (chunk)
            segment_drop(chunk);
    } while (chunk);
    __atomic_store_n(&stock.served, false, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&stock.filled);
    pthread_cond_broadcast(&stock.low);
}

void stock_leave(void)
{
    memset(&stock, 0, sizeof(stock));
    pthread_mutex_init(&stock.lock, NULL);
    pthread_cond_init(&stock.low, NULL);
    pthread_cond_init(&stock.filled, NULL);
}
