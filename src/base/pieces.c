#include "base/pieces.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum slot_state { SLOT_EMPTY, SLOT_MADE, SLOT_FAILED };

struct run {
    const struct pieces *pieces;
    pthread_mutex_t lock;
    pthread_cond_t made, room; /* something changed that the taker, or a worker, waits for */
    unsigned slot_count;
    enum slot_state *slots;
    size_t begun, taken; /* pieces */
    bool stopped;
    unsigned next_worker;
};

unsigned pieces_workers(unsigned most)
{
    cpu_set_t allowed;
    int count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return (unsigned)count < most ? (unsigned)count : most;
}

static int run_alone(const struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->make(pieces->context, i, 0, 0) != 0 || pieces->take(pieces->context, i, 0) != 0)
            return -1;
    return 0;
}

/* False: there is none any more. With the lock held. */
static bool begin_piece(struct run *run, size_t *piece)
{
    while (!run->stopped && run->begun < run->pieces->count && run->begun - run->taken >= run->slot_count)
        pthread_cond_wait(&run->room, &run->lock);
    if (run->stopped || run->begun == run->pieces->count)
        return false;
    *piece = run->begun++;
    return true;
}

static void *work(void *data)
{
    struct run *run = data;
    size_t piece;
    pthread_mutex_lock(&run->lock);
    unsigned worker = run->next_worker++;
    while (begin_piece(run, &piece)) {
        unsigned slot = (unsigned)(piece % run->slot_count);
        pthread_mutex_unlock(&run->lock);
        int result = run->pieces->make(run->pieces->context, piece, slot, worker);
        pthread_mutex_lock(&run->lock);
        run->slots[slot] = result == 0 ? SLOT_MADE : SLOT_FAILED;
        pthread_cond_signal(&run->made);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static int take_piece(struct run *run, size_t piece)
{
    unsigned slot = (unsigned)(piece % run->slot_count);
    pthread_mutex_lock(&run->lock);
    while (run->slots[slot] == SLOT_EMPTY)
        pthread_cond_wait(&run->made, &run->lock);
    enum slot_state state = run->slots[slot];
    pthread_mutex_unlock(&run->lock);
    int result = state == SLOT_MADE ? run->pieces->take(run->pieces->context, piece, slot) : -1;
    pthread_mutex_lock(&run->lock);
    run->slots[slot] = SLOT_EMPTY;
    run->taken++;
    run->stopped = result != 0;
    pthread_cond_broadcast(&run->room);
    pthread_mutex_unlock(&run->lock);
    return result;
}

/* Starts as many threads as can be had, and gives their number. What is sent to the process is for the others. */
static unsigned start(struct run *run, pthread_t *threads)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    unsigned started = 0;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    while (started < run->pieces->workers && pthread_create(&threads[started], NULL, work, run) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static int run_threads(struct run *run, pthread_t *threads)
{
    unsigned started = start(run, threads);
    if (started == 0)
        return run_alone(run->pieces);
    int result = 0;
    for (size_t i = 0; i < run->pieces->count && result == 0; i++)
        result = take_piece(run, i);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return result;
}

int pieces_run(const struct pieces *pieces)
{
    struct run run = {.pieces = pieces, .slot_count = pieces_slots(pieces->workers)};
    if (pieces->workers <= 1 || pieces->count <= 1)
        return run_alone(pieces);
    pthread_t *threads = calloc(pieces->workers, sizeof(*threads));
    run.slots = calloc(run.slot_count, sizeof(*run.slots));
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
