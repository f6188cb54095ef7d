/*
 * Chunks that are ready for use, on shelves by size. Threads take chunks from the shelves; a thread of ours makes the
 * file grow before space is needed, and reuses segments that the launcher has drained. When the disk is full, growing
 * is tried again at longer and longer intervals.
 */
#include "agent/spool/chunk_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/spool/process.h"
#include "agent/spool/segments.h"
#include "agent/spool/spool_file.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/threads.h"

#define POOL_MAX 4096u        /* ready chunks */
#define POOL_REMAINDERS 4000u /* maximum of chunks that are not fresh segments */
#define POOL_SEGMENTS 64u     /* maximum of segments with small ready chunks: a ready chunk keeps its segment mapped */
#define POOL_FRESH_START 2u   /* fresh segments kept ready at first */
#define POOL_FRESH_LIMIT 16u  /* maximum kept ready when they are used up quickly */

/* Minimum sizes of chunks: a smaller chunk would be mostly header, and CUPTI has records of a few hundred bytes. */
#define RECORDS_BYTES_MIN ((uint64_t)1 << 10)
#define CUPTI_BYTES_MIN ((uint64_t)8 << 10)

/* There is a shelf for each power of two, from RECORDS_BYTES_MIN to a whole segment, with chunks of at least that size.
 */
#define SHELF_FIRST_BITS 10u
#define SHELVES 11u

/* How long the file is not asked to grow after a refusal; the delay doubles with each further refusal. */
#define RETRY_DELAY_MIN (100 * NS_PER_MS)
#define RETRY_DELAY_MAX (2 * NS_PER_S)

/* Ready chunks, each on the list of a shelf; free places are on a list as well. Lists are linked by place numbers, 0 at
 * the end. */
static struct place {
    struct spool_chunk *chunk;
    uint32_t bytes; /* size of the chunk when it was put here */
    unsigned next;
} places[1 + POOL_MAX];

static struct pool {
    pthread_mutex_t lock;
    pthread_cond_t low;                           /* for our thread */
    pthread_cond_t filled;                        /* the file has grown or cannot grow */
    unsigned shelves[SPOOL_RECORDS + 1][SHELVES]; /* heads of lists, by the purpose of the chunk's segment */
    unsigned free_places, used_places;            /* head of the list of free places; number of places ever used */
    unsigned count;                               /* number of ready chunks */
    unsigned fresh;                               /* number of ready chunks that are whole segments */
    unsigned segments;                            /* number of segments with ready chunks that are not whole segments */
    unsigned fresh_wanted;                        /* how many fresh segments to keep; 0: none are needed yet */
    bool growing;                                 /* a thread makes the file grow */
    bool ending;                                  /* our thread must return */
    bool closed;                                  /* closed for good */
    bool served;                                  /* our thread can grow the file even if the program closed it */
    int failure;                                  /* errno of the last growth */
    uint64_t retry_delay;                         /* in ns, 0 if the last growth succeeded; read without the lock */
    uint64_t retry_at;                            /* CLOCK_MONOTONIC; read without the lock */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .low = PTHREAD_COND_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void lock_pool(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void unlock_pool(void)
{
    pthread_mutex_unlock(&pool.lock);
}

struct spool_chunk *chunk_pool_cut(struct spool_chunk *chunk, uint64_t bytes)
{
    uint64_t least = segment_purpose(chunk) == SPOOL_CUPTI ? CUPTI_BYTES_MIN : RECORDS_BYTES_MIN;
    bool enough = chunk->bytes > bytes && chunk->bytes - bytes >= least;
    return enough ? segment_cut(chunk, bytes) : NULL;
}

/* --- shelves; all under the lock --- */

/* Returns the shelf for a chunk of BYTES. */
static unsigned shelf_of(uint64_t bytes)
{
    unsigned bits = 63u - (unsigned)__builtin_clzll(bytes | 1);
    unsigned shelf = bits > SHELF_FIRST_BITS ? bits - SHELF_FIRST_BITS : 0;
    return shelf < SHELVES ? shelf : SHELVES - 1;
}

#define IS_WHOLE(chunk) ((chunk)->bytes == SPOOL_SEGMENT_BYTES)

/* Takes the chunk at *PLACE, a link of a list, off the list. Returns NULL if the file was truncated and the chunk is
 * gone. */
static struct spool_chunk *pop_place(unsigned *place)
{
    unsigned taken = *place;
    struct spool_chunk *chunk = places[taken].chunk;
    bool is_there = chunk->magic == SPOOL_CHUNK_MAGIC && chunk->bytes == places[taken].bytes;
    *place = places[taken].next;
    places[taken].next = pool.free_places;
    pool.free_places = taken;
    pool.count--;
    pool.fresh -= places[taken].bytes == SPOOL_SEGMENT_BYTES;
    if (is_there)
        pool.segments -= --*segment_kept(chunk) == 0 && !IS_WHOLE(chunk);
    return is_there ? chunk : NULL;
}

static unsigned *shelf_with(enum spool_chunk_type purpose, uint64_t least)
{
    /* On this shelf and later ones every chunk has at least LEAST bytes. */
    unsigned shelf = least <= (uint64_t)1 << SHELF_FIRST_BITS ? 0 : shelf_of(least - 1) + 1;
    for (; shelf < SHELVES; shelf++)
        if (pool.shelves[purpose][shelf])
            return &pool.shelves[purpose][shelf];
    return NULL;
}

/* Keeps CHUNK for later. Returns false if the pool does not want it; then the caller drops it. */
static bool keep(struct spool_chunk *chunk)
{
    uint64_t large = segment_purpose(chunk) == SPOOL_CUPTI ? CUPTI_CHUNK_BYTES_MIN : RECORDS_CHUNK_BYTES;
    bool alone = *segment_kept(chunk) == 0;
    bool good = IS_WHOLE(chunk) ||
                (pool.count < POOL_REMAINDERS && (!alone || chunk->bytes >= large || pool.segments < POOL_SEGMENTS));
    if (pool.closed || pool.count == POOL_MAX || !good)
        return false;
    unsigned place = pool.free_places;
    if (place)
        pool.free_places = places[place].next;
    else
        place = ++pool.used_places;
    unsigned *shelf = &pool.shelves[segment_purpose(chunk)][shelf_of(chunk->bytes)];
    places[place] = (struct place){.chunk = chunk, .bytes = (uint32_t)chunk->bytes, .next = *shelf};
    *shelf = place;
    pool.count++;
    pool.fresh += IS_WHOLE(chunk);
    pool.segments += (*segment_kept(chunk))++ == 0 && !IS_WHOLE(chunk);
    return true;
}

static void put(struct spool_chunk *chunk)
{
    if (chunk && !keep(chunk))
        segment_drop(chunk);
}

/* Returns the smallest ready chunk that is large enough, cut after MOST bytes, or NULL. Remainders go before fresh
 * segments. If ANY, the chunk may also come from a segment for the other type. */
static struct spool_chunk *pick(enum spool_chunk_type type, uint64_t least, uint64_t most, bool any)
{
    struct spool_chunk *chunk = NULL;
    const enum spool_chunk_type purposes[] = {type, SPOOL_FREE, type == SPOOL_CUPTI ? SPOOL_RECORDS : SPOOL_CUPTI};
    for (size_t i = 0; !chunk && i < (any ? 3 : 2); i++)
        for (unsigned *shelf; !chunk && (shelf = shelf_with(purposes[i], least));)
            chunk = pop_place(shelf);
    if (chunk && segment_purpose(chunk) == SPOOL_FREE)
        segment_set_purpose(chunk, type);
    if (chunk)
        put(chunk_pool_cut(chunk, most));
    return chunk;
}

/* --- reuse of drained segments --- */

static void forget_segment(const char *segment)
{
    for (unsigned i = 0; i < (SPOOL_RECORDS + 1) * SHELVES; i++)
        for (unsigned *place = &pool.shelves[i / SHELVES][i % SHELVES]; *place;)
            if ((uintptr_t)places[*place].chunk - (uintptr_t)segment < SPOOL_SEGMENT_BYTES)
                pop_place(place);
            else
                place = &places[*place].next;
}

static const struct segment_keeper keeper = {lock_pool, unlock_pool, forget_segment};

void chunk_pool_add(struct spool_chunk *chunk)
{
    lock_pool();
    bool kept = !chunk || keep(chunk);
    unlock_pool();
    if (!kept)
        segment_drop(chunk);
}

/* --- the file grows --- */

static struct spool_chunk *grow(void)
{
    struct spool_chunk *chunk = spool_file_grow();
    if (chunk) {
        __atomic_store_n(&pool.retry_delay, 0, __ATOMIC_RELAXED);
        return chunk;
    }
    __atomic_store_n(&pool.failure, errno, __ATOMIC_RELAXED);
    if (errno == EBADF)
        return NULL;
    /* Delays the next attempt: a full disk is slow to report that, and every record of every thread would try. */
    lock_pool();
    uint64_t last = __atomic_load_n(&pool.retry_delay, __ATOMIC_RELAXED);
    uint64_t delay = last == 0 ? RETRY_DELAY_MIN : last * 2 < RETRY_DELAY_MAX ? last * 2 : RETRY_DELAY_MAX;
    __atomic_store_n(&pool.retry_at, clock_monotonic() + delay, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.retry_delay, delay, __ATOMIC_RELAXED);
    unlock_pool();
    return NULL;
}

int chunk_pool_failure(void)
{
    return __atomic_load_n(&pool.failure, __ATOMIC_RELAXED);
}

static bool is_retry_delayed(void)
{
    return __atomic_load_n(&pool.retry_delay, __ATOMIC_RELAXED) != 0 &&
           clock_monotonic() < __atomic_load_n(&pool.retry_at, __ATOMIC_RELAXED);
}

/* Puts a drained or new segment, or the rest of the first segment, into the pool. Returns false if there is none. The
 * caller holds the lock, which is released meanwhile: other threads wait for `filled`. */
static bool get_fresh(void)
{
    pool.growing = true;
    unlock_pool();
    struct spool_chunk *chunk = segments_reclaim(&keeper);
    if (!chunk && !is_retry_delayed())
        chunk = grow();
    lock_pool();
    pool.growing = false;
    put(chunk);
    pthread_cond_broadcast(&pool.filled);
    return chunk != NULL;
}

/* --- taking chunks --- */

/* Raises the number of fresh segments to keep, from 0 or, if MORE, to twice the number. The caller holds the lock. */
static void want_fresh(bool more)
{
    if (more && pool.fresh_wanted < POOL_FRESH_LIMIT)
        pool.fresh_wanted *= 2;
    else if (!more && pool.fresh_wanted == 0)
        pool.fresh_wanted = POOL_FRESH_START;
}

void chunk_pool_serve(void)
{
    lock_pool();
    want_fresh(false);
    unlock_pool();
    pthread_cond_signal(&pool.low);
}

static struct spool_chunk *get_ready(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    lock_pool();
    unsigned before = pool.fresh;
    struct spool_chunk *chunk = pick(type, least, most, false);
    if (!chunk || most > CHUNK_POOL_SMALL_BYTES)
        want_fresh(false);
    if (before > 0 && pool.fresh == 0)
        want_fresh(true);
    bool low = pool.fresh < pool.fresh_wanted;
    unlock_pool();
    if (low)
        pthread_cond_signal(&pool.low);
    return chunk;
}

/* Makes the file grow, or waits while another thread does, and returns a chunk. Returns NULL if the file cannot grow.
 */
static struct spool_chunk *get_grown(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    struct spool_chunk *chunk;
    bool grows = true;
    lock_pool();
    while (!(chunk = pick(type, least, most, false)) && grows) {
        if (pool.growing) {
            pthread_cond_wait(&pool.filled, &pool.lock);
            continue;
        }
        want_fresh(true);
        grows = get_fresh();
    }
    unlock_pool();
    return chunk;
}

struct spool_chunk *chunk_pool_get(enum spool_chunk_type type, uint64_t least, uint64_t most)
{
    uint64_t good = least > most / 4 ? least : most / 4;
    struct spool_chunk *chunk = get_ready(type, good, most);
    if (!chunk)
        chunk = get_grown(type, good, most);
    if (chunk)
        return chunk;
    lock_pool();
    if (chunk_pool_failure() == EBADF) {
        /* Waits until the pool's thread has made the file grow. */
        uint64_t limit = clock_monotonic() + NS_PER_S;
        int result = 0;
        while (__atomic_load_n(&pool.served, __ATOMIC_RELAXED) && !is_retry_delayed() && result == 0 &&
               !(chunk = pick(type, good, most, false))) {
            pthread_cond_signal(&pool.low);
            result = monotonic_cond_wait(&pool.filled, &pool.lock, limit);
        }
    }
    if (!chunk)
        chunk = pick(type, least, most, true);
    unlock_pool();
    return chunk;
}

/* --- our thread --- */

/* Keeps fresh segments in the pool. */
static void *fill_pool(void *unused)
{
    (void)unused;
    thread_become_ours("gputrace-spool", spool_file_header());
    bool own = false; /* descriptors of its own, taken when needed: few programs make that system call */
    for (;;) {
        lock_pool();
        while (!pool.ending && !pool.closed &&
               (pool.growing || pool.fresh >= pool.fresh_wanted || pool.count == POOL_MAX))
            pthread_cond_wait(pool.growing ? &pool.filled : &pool.low, &pool.lock);
        bool ending = pool.ending, over = ending || pool.closed, got = !over && get_fresh();
        unlock_pool();
        if (ending)
            thread_end();
        if (over)
            return NULL;
        if (!got && !own && chunk_pool_failure() == EBADF) {
            own = true;
            __atomic_store_n(&pool.served, spool_file_own_descriptors() == 0, __ATOMIC_RELAXED);
        } else if (!got) {
            usleep(RETRY_DELAY_MIN / NS_PER_US);
        }
    }
}

void chunk_pool_end(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.ending = true;
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_signal(&pool.low);
    pthread_cond_broadcast(&pool.filled);
}

void chunk_pool_open(struct spool_chunk *first)
{
    monotonic_cond_init(&pool.filled);
    chunk_pool_add(first);
    __atomic_store_n(&pool.served, true, __ATOMIC_RELAXED);
    if (thread_start(fill_pool, NULL) == 0)
        return;
    __atomic_store_n(&pool.served, false, __ATOMIC_RELAXED);
    verbose("no thread for the spool (%m): it grows when it is asked to");
}

void chunk_pool_close(void)
{
    lock_pool();
    pool.closed = true;
    for (unsigned i = 0; i < (SPOOL_RECORDS + 1) * SHELVES; i++) {
        unsigned *place = &pool.shelves[i / SHELVES][i % SHELVES];
        while (*place) {
            struct spool_chunk *chunk = pop_place(place);
            if (chunk)
                segment_drop(chunk);
        }
    }
    unlock_pool();
    __atomic_store_n(&pool.served, false, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&pool.filled);
    pthread_cond_broadcast(&pool.low);
}

void chunk_pool_atfork_child(void)
{
    memset(&pool, 0, sizeof(pool));
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.low, NULL);
    monotonic_cond_init(&pool.filled);
}
