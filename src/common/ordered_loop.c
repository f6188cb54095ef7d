#include "common/ordered_loop.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/threads.h"

enum slot_state { SLOT_EMPTY, SLOT_MADE, SLOT_NOTHING, SLOT_FAILED };

struct slot {
    enum slot_state state;
    unsigned of_piece; /* by piece % slot_count, of those in flight: where it lies */
    unsigned free;     /* the first `free_count` of these: slots that are not in use */
};

struct run {
    const struct ordered_loop *pieces;
    pthread_mutex_t lock;
    pthread_cond_t made, room; /* something changed that the taker, or a worker, waits for */
    unsigned slot_count, free_count;
    struct slot *slots;
    size_t begun, taken; /* pieces */
    size_t held;         /* bytes of those between */
    bool stopped;
    unsigned next_worker;
};

static unsigned processors(void)
{
    cpu_set_t allowed; /* of some 1,000: where there are more it cannot tell */
    long count =
        sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

unsigned ordered_loop_workers(unsigned wanted, unsigned most)
{
    unsigned count = wanted ? wanted : processors();
    return count < most ? count : most;
}

static int run_alone(const struct ordered_loop *pieces)
{
    int result = 0;
    for (size_t i = 0; i < pieces->count && result == 0; i++) {
        result = pieces->make(pieces->context, i, 0, 0);
        if (result == 0)
            result = pieces->take(pieces->context, i, 0);
    }
    return result > 0 ? 0 : result;
}

static size_t size_of(const struct run *run, size_t piece)
{
    return run->pieces->size ? run->pieces->size(run->pieces->context, piece) : 0;
}

static bool is_room(const struct run *run)
{
    if (run->begun == run->taken)
        return true;
    return run->free_count > 0 && (!run->pieces->size || run->held + size_of(run, run->begun) <= run->pieces->most);
}

static unsigned *slot_of(const struct run *run, size_t piece)
{
    return &run->slots[piece % run->slot_count].of_piece;
}

static bool is_over(const struct run *run)
{
    return run->stopped || run->begun == run->pieces->count;
}

/* One worker where there is room for a piece: it wakes the next one. All of them at once would but wait for the lock,
 * and the taker with them. With the lock held. */
static void wake(struct run *run)
{
    if (is_over(run))
        pthread_cond_broadcast(&run->room);
    else if (is_room(run))
        pthread_cond_signal(&run->room);
}

/* False: there is none any more. With the lock held. */
static bool begin_piece(struct run *run, size_t *piece)
{
    while (!is_over(run) && !is_room(run))
        pthread_cond_wait(&run->room, &run->lock);
    if (is_over(run))
        return false;
    *piece = run->begun++;
    *slot_of(run, *piece) = run->slots[--run->free_count].free;
    run->held += size_of(run, *piece);
    wake(run);
    return true;
}

static void *work(void *data)
{
    struct run *run = data;
    size_t piece;
    pthread_mutex_lock(&run->lock);
    unsigned worker = run->next_worker++;
    while (begin_piece(run, &piece)) {
        unsigned slot = *slot_of(run, piece);
        pthread_mutex_unlock(&run->lock);
        int result = run->pieces->make(run->pieces->context, piece, slot, worker);
        pthread_mutex_lock(&run->lock);
        run->slots[slot].state = result == 0 ? SLOT_MADE : result > 0 ? SLOT_NOTHING : SLOT_FAILED;
        pthread_cond_signal(&run->made);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* 0, -1, or 1: there was none. */
static int take_piece(struct run *run, size_t piece)
{
    pthread_mutex_lock(&run->lock);
    while (run->begun <= piece || run->slots[*slot_of(run, piece)].state == SLOT_EMPTY)
        pthread_cond_wait(&run->made, &run->lock);
    unsigned slot = *slot_of(run, piece);
    enum slot_state state = run->slots[slot].state;
    pthread_mutex_unlock(&run->lock);
    int result = state == SLOT_NOTHING ? 1 : -1;
    if (state == SLOT_MADE)
        result = run->pieces->take(run->pieces->context, piece, slot);
    pthread_mutex_lock(&run->lock);
    run->slots[slot].state = SLOT_EMPTY;
    run->slots[run->free_count++].free = slot;
    run->held -= size_of(run, piece);
    run->taken++;
    run->stopped = result != 0;
    wake(run);
    pthread_mutex_unlock(&run->lock);
    return result;
}

static int run_threads(struct run *run, pthread_t *threads)
{
    unsigned started = threads_start(threads, run->pieces->workers, work, run);
    if (started == 0)
        return run_alone(run->pieces);
    int result = 0;
    for (size_t i = 0; i < run->pieces->count && result == 0; i++)
        result = take_piece(run, i);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return result > 0 ? 0 : result;
}

int ordered_loop_run(const struct ordered_loop *pieces)
{
    struct run run = {.pieces = pieces, .slot_count = ordered_loop_slots(pieces->workers)};
    if (pieces->workers <= 1 || pieces->count <= 1)
        return run_alone(pieces);
    pthread_t *threads = calloc(pieces->workers, sizeof(*threads));
    run.slots = calloc(run.slot_count, sizeof(*run.slots));
    for (; run.slots && run.free_count < run.slot_count; run.free_count++)
        run.slots[run.free_count].free = run.free_count;
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.made, NULL);
    pthread_cond_init(&run.room, NULL);
    int result = threads && run.slots ? run_threads(&run, threads) : run_alone(pieces);
    pthread_cond_destroy(&run.room);
    pthread_cond_destroy(&run.made);
    pthread_mutex_destroy(&run.lock);
    free(run.slots);
    free(threads);
    return result;
}
