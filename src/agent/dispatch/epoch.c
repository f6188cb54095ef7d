#include "agent/dispatch/epoch.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/threads.h"
#include "agent/dispatch/fork_watch.h"

static struct epoch_reader *readers; /* grows at its head, never shrinks */
__thread struct epoch_reader *epoch_reader_known;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct thread_key at_thread_end;
static pthread_once_t barrier_once = PTHREAD_ONCE_INIT;
static bool barrier_works;

static void register_barrier(void)
{
    barrier_works = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static bool make_stores_visible(void)
{
    pthread_once(&barrier_once, register_barrier);
    return barrier_works && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void epoch_prepare(void)
{
    if (__libc_single_threaded)
        pthread_once(&barrier_once, register_barrier);
}

static void thread_ended(void *reader)
{
    epoch_reader_known = NULL;
    __atomic_store_n(&((struct epoch_reader *)reader)->taken, 0, __ATOMIC_RELEASE);
}

static void prepare(void)
{
    thread_key_make(&at_thread_end, thread_ended);
}

static struct epoch_reader *first(void)
{
    return __atomic_load_n(&readers, __ATOMIC_ACQUIRE);
}

static struct epoch_reader *take_left_over(void)
{
    for (struct epoch_reader *reader = first(); reader; reader = reader->next) {
        uint32_t nobody = 0;
        if (__atomic_compare_exchange_n(&reader->taken, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return reader;
    }
    return NULL;
}

static struct epoch_reader *make(void)
{
    struct epoch_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return NULL;
    reader->taken = 1;
    reader->next = first();
    while (!__atomic_compare_exchange_n(&readers, &reader->next, reader, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
    return reader;
}

struct epoch_reader *epoch_reader_make(void)
{
    if (fork_turned_away())
        return NULL;
    pthread_once(&once, prepare);
    struct epoch_reader *mine = take_left_over();
    if (!mine)
        mine = make();
    if (mine)
        thread_key_set(&at_thread_end, mine);
    return epoch_reader_known = mine;
}

static uint32_t rounds_of(const struct epoch_reader *reader)
{
    return __atomic_load_n(&reader->rounds, __ATOMIC_ACQUIRE);
}

static bool is_in(uint32_t rounds)
{
    return rounds % 2 != 0;
}

bool epoch_is_quiescent(void)
{
    if (!make_stores_visible())
        return false;
    for (const struct epoch_reader *reader = first(); reader; reader = reader->next)
        if (is_in(rounds_of(reader)))
            return false;
    return true;
}

void epoch_synchronize(void)
{
    if (fork_unannounced())
        return;
    make_stores_visible();
    for (const struct epoch_reader *reader = first(); reader; reader = reader->next) {
        uint32_t rounds = rounds_of(reader);
        while (reader != epoch_reader_known && is_in(rounds) && rounds_of(reader) == rounds)
            sched_yield();
    }
}

void epoch_client_time(unsigned client, uint64_t *calls, uint64_t *ns)
{
    *calls = *ns = 0;
    for (const struct epoch_reader *reader = first(); reader; reader = reader->next) {
        *calls += __atomic_load_n(&reader->spent[client].calls, __ATOMIC_RELAXED);
        *ns += __atomic_load_n(&reader->spent[client].ns, __ATOMIC_RELAXED);
    }
}

void epoch_atfork_child(void)
{
    for (struct epoch_reader *reader = first(); reader; reader = reader->next) {
        if (reader == epoch_reader_known)
            continue;
        reader->taken = reader->depth = 0;
        reader->in_client = false;
        reader->rounds += reader->rounds % 2;
    }
}
