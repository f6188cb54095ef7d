/*
 * planted_host: a GPU that waits for a thread of the host which waits itself: for a slow loader, for a lock, for a
 * disk; and the twins in which the GPU has work meanwhile: see planted.h. The functions have the names that a report
 * should show: gputrace run --cpu=samples,switches.
 */
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "planted.h"

enum { ROUNDS = 30, ROUND_US = 3000 };

#define NOT_INLINED __attribute__((noinline))

static double now_us()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static volatile unsigned sink;

/* In place, so that samples are of the function that computes; FACTOR makes functions differ, as the compiler joins
 * those that do the same. */
#define COMPUTE(factor)                                     \
    for (double end = now_us() + ROUND_US; now_us() < end;) \
        for (unsigned i = 0; i < 1000; i++)                 \
    sink = sink * (factor) + i

/* The twins launch work for all rounds first. */
struct rounds {
    cudaStream_t stream;
    float *data;
    bool fixed;
};

static rounds begin_rounds(bool fixed)
{
    rounds all = {new_stream(), device_memory(ELEMENTS * sizeof(float)), fixed};
    if (fixed)
        launch_work(all.data, ROUNDS * 3 * ROUND_US, all.stream);
    return all;
}

static void launch_round(const rounds &all)
{
    if (!all.fixed)
        launch_work(all.data, 1000, all.stream);
}

/* --- a thread decodes what the launching thread waits for --- */

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static int asked, decoded;

NOT_INLINED static void decode_batch()
{
    COMPUTE(2654435761u);
}

static void *run_loader(void *)
{
    pthread_setname_np(pthread_self(), "loader");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&queue_lock);
        while (asked <= i)
            pthread_cond_wait(&queue_changed, &queue_lock);
        pthread_mutex_unlock(&queue_lock);
        decode_batch();
        pthread_mutex_lock(&queue_lock);
        decoded++;
        pthread_cond_broadcast(&queue_changed);
        pthread_mutex_unlock(&queue_lock);
    }
    return NULL;
}

NOT_INLINED static void next_batch()
{
    pthread_mutex_lock(&queue_lock);
    asked++;
    pthread_cond_broadcast(&queue_changed);
    while (decoded < asked)
        pthread_cond_wait(&queue_changed, &queue_lock);
    pthread_mutex_unlock(&queue_lock);
}

static void loader(bool fixed)
{
    rounds all = begin_rounds(fixed);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_loader, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        next_batch();
        launch_round(all);
    }
    CHECK(pthread_join(thread, NULL));
}

/* --- a thread holds a lock for long --- */

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool stopping;

NOT_INLINED static void save_state()
{
    COMPUTE(2246822519u);
}

static void *run_saver(void *)
{
    pthread_setname_np(pthread_self(), "saver");
    while (!stopping) {
        pthread_mutex_lock(&state_lock);
        save_state();
        pthread_mutex_unlock(&state_lock);
        usleep(50); /* without it nobody else gets the lock */
    }
    return NULL;
}

NOT_INLINED static void read_state()
{
    pthread_mutex_lock(&state_lock);
    sink++;
    pthread_mutex_unlock(&state_lock);
}

static void lock(bool fixed)
{
    rounds all = begin_rounds(fixed);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_saver, NULL));
    usleep(1000);
    for (int i = 0; i < ROUNDS; i++) {
        read_state();
        launch_round(all);
        usleep(200);
    }
    stopping = true;
    CHECK(pthread_join(thread, NULL));
}

/* --- a disk --- */

NOT_INLINED static void save_batch(int file)
{
    static char bytes[64 << 10];
    for (double end = now_us() + ROUND_US; now_us() < end;) {
        CHECK(pwrite(file, bytes, sizeof(bytes), 0) != sizeof(bytes));
        CHECK(fsync(file));
    }
}

static void disk(bool fixed)
{
    char path[] = "planted_host.XXXXXX";
    rounds all = begin_rounds(fixed);
    int file = mkstemp(path);
    CHECK(file < 0 || unlink(path));
    for (int i = 0; i < ROUNDS; i++) {
        save_batch(file);
        launch_round(all);
    }
    close(file);
}

static const planted_case cases[] = {{"loader", loader}, {"lock", lock}, {"disk", disk}};

PLANTED_MAIN(cases)
