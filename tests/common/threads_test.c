#include "tests/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/threads.h"

enum { MOST = 64 };

struct sums {
    size_t made[MOST];     /* by slot: the piece that lies in it, + 1 */
    size_t taken;          /* pieces so far */
    size_t fails, resists; /* the piece that cannot be made, or taken; SIZE_MAX: none */
    size_t end;            /* there are no pieces from this one on */
    bool workers[MOST];
    pthread_t caller;
    bool taken_elsewhere, made_by_caller;
    unsigned in_flight, most_in_flight; /* slots in use */
};

static int make(void *context, size_t piece, unsigned slot, unsigned worker)
{
    struct sums *sums = context;
    assert_true(slot < MOST && worker < MOST);
    sums->workers[worker] = true;
    unsigned in_flight = __atomic_add_fetch(&sums->in_flight, 1, __ATOMIC_RELAXED);
    unsigned most = __atomic_load_n(&sums->most_in_flight, __ATOMIC_RELAXED);
    while (in_flight > most && !__atomic_compare_exchange_n(&sums->most_in_flight, &most, in_flight, false,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    for (size_t i = 0; i < piece % 7; i++) /* later ones are often done first */
        sched_yield();
    if (pthread_equal(pthread_self(), sums->caller))
        sums->made_by_caller = true;
    if (piece == sums->fails)
        return -1;
    if (piece >= sums->end)
        return 1;
    sums->made[slot] = piece + 1;
    return 0;
}

static int take(void *context, size_t piece, unsigned slot)
{
    struct sums *sums = context;
    sums->taken_elsewhere |= !pthread_equal(pthread_self(), sums->caller);
    assert_int_equal(piece, sums->taken);
    assert_int_equal(sums->made[slot], piece + 1);
    sums->made[slot] = 0;
    __atomic_sub_fetch(&sums->in_flight, 1, __ATOMIC_RELAXED);
    if (piece == sums->resists)
        return -1;
    sums->taken++;
    return 0;
}

static int run(struct sums *sums, unsigned workers, size_t count)
{
    sums->caller = pthread_self();
    return ordered_loop_run(
        &(struct ordered_loop){.count = count, .workers = workers, .make = make, .take = take, .context = sums});
}

/* --- of which together may not be more than so many bytes --- */

struct sizes {
    size_t held, most_held; /* by those between make and take */
    size_t slots[MOST];     /* how often each was used */
    size_t taken;
};

static size_t size_of(void *context, size_t piece)
{
    (void)context;
    return piece % 10 == 9 ? 5000 : 100; /* one is larger than all may be */
}

static int make_sized(void *context, size_t piece, unsigned slot, unsigned worker)
{
    struct sizes *sizes = context;
    (void)worker;
    size_t held = __atomic_add_fetch(&sizes->held, size_of(NULL, piece), __ATOMIC_SEQ_CST);
    size_t most = __atomic_load_n(&sizes->most_held, __ATOMIC_SEQ_CST);
    while (held > most &&
           !__atomic_compare_exchange_n(&sizes->most_held, &most, held, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    __atomic_add_fetch(&sizes->slots[slot], 1, __ATOMIC_SEQ_CST);
    sched_yield();
    return 0;
}

static int take_sized(void *context, size_t piece, unsigned slot)
{
    struct sizes *sizes = context;
    (void)slot;
    sizes->taken++;
    __atomic_sub_fetch(&sizes->held, size_of(NULL, piece), __ATOMIC_SEQ_CST);
    return 0;
}

UNIT_TEST(no_more_is_held_than_may_be_but_by_one_piece_alone)
{
    for (unsigned workers = 2; workers <= 20; workers += 6) {
        struct sizes sizes = {0};
        assert_int_equal(ordered_loop_run(&(struct ordered_loop){.count = 1000,
                                                                 .workers = workers,
                                                                 .make = make_sized,
                                                                 .take = take_sized,
                                                                 .size = size_of,
                                                                 .most = 300,
                                                                 .context = &sizes}),
                         0);
        assert_int_equal(sizes.taken, 1000);
        assert_int_equal(sizes.most_held, 5000); /* never beside another */
        for (unsigned slot = 0; slot + 3 < ordered_loop_slots(workers); slot++)
            assert_int_equal(sizes.slots[slot], 0); /* three are enough */
    }
}

static struct sums nothing_fails(void)
{
    return (struct sums){.fails = SIZE_MAX, .resists = SIZE_MAX, .end = SIZE_MAX};
}

UNIT_TEST(pieces_are_taken_in_order_whatever_the_number_of_threads)
{
    for (unsigned workers = 0; workers <= 9; workers++) {
        struct sums sums = nothing_fails();
        assert_int_equal(run(&sums, workers, 1000), 0);
        assert_int_equal(sums.taken, 1000);
        assert_false(sums.taken_elsewhere);
        assert_int_equal(sums.made_by_caller, workers <= 1);
        assert_true(sums.most_in_flight <= ordered_loop_slots(workers));
    }
}

UNIT_TEST(no_piece_and_one_piece_need_no_threads)
{
    for (size_t count = 0; count < 2; count++) {
        struct sums sums = nothing_fails();
        assert_int_equal(run(&sums, 4, count), 0);
        assert_int_equal(sums.taken, count);
        assert_int_equal(sums.made_by_caller, count == 1);
    }
}

UNIT_TEST(a_piece_that_fails_ends_it_after_those_before)
{
    for (unsigned workers = 1; workers <= 5; workers++) {
        struct sums sums = nothing_fails();
        sums.fails = 123;
        assert_int_equal(run(&sums, workers, 1000), -1);
        assert_int_equal(sums.taken, 123);
    }
}

UNIT_TEST(taking_that_fails_ends_it_too)
{
    for (unsigned workers = 1; workers <= 5; workers++) {
        struct sums sums = nothing_fails();
        sums.resists = 77;
        assert_int_equal(run(&sums, workers, 1000), -1);
        assert_int_equal(sums.taken, 77);
    }
}

UNIT_TEST(pieces_end_where_there_are_no_more)
{
    static const size_t ends[] = {0, 1, 2, 500};
    for (unsigned workers = 0; workers <= 5; workers++) {
        for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
            struct sums sums = nothing_fails();
            sums.end = ends[i];
            assert_int_equal(run(&sums, workers, ORDERED_LOOP_UNKNOWN), 0);
            assert_int_equal(sums.taken, ends[i]);
        }
    }
}

UNIT_TEST(workers_are_those_that_may_run_here)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_true(ordered_loop_workers(0, 1) == 1);
    assert_true(ordered_loop_workers(0, 1000) == (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(ordered_loop_workers(0, 1000), 1);
    assert_int_equal(ordered_loop_workers(7, 1000), 7);
    assert_int_equal(ordered_loop_workers(7, 3), 3);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* --- */

static atomic_int blocked, open_to_faults;

static void *look(void *context)
{
    sigset_t set;
    (void)context;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    blocked += sigismember(&set, SIGTERM) && sigismember(&set, SIGINT) && sigismember(&set, SIGCHLD);
    open_to_faults += !sigismember(&set, SIGSEGV) && !sigismember(&set, SIGBUS);
    return NULL;
}

UNIT_TEST(threads_leave_the_process_its_signals)
{
    pthread_t threads[4];
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(threads_start(threads, 4, look, NULL), 4);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(blocked, 4);
    assert_int_equal(open_to_faults, 4);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

static int count_run(void *context)
{
    ++*(int *)context;
    return 0;
}

static int count_and_fail(void *context)
{
    ++*(int *)context;
    return -1;
}

UNIT_TEST(every_task_is_done_once)
{
    for (unsigned workers = 0; workers <= 16; workers += 4) {
        int done[9] = {0};
        struct task tasks[9];
        for (int i = 0; i < 9; i++)
            tasks[i] = (struct task){count_run, &done[i]};
        assert_int_equal(tasks_run(tasks, 9, workers), 0);
        assert_int_equal(tasks_run(tasks, 0, workers), 0);
        for (int i = 0; i < 9; i++)
            assert_int_equal(done[i], 1);
    }
}

UNIT_TEST(a_task_that_fails_is_reported)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        int done[3] = {0};
        const struct task tasks[] = {{count_run, &done[0]}, {count_and_fail, &done[1]}, {count_run, &done[2]}};
        assert_int_equal(tasks_run(tasks, 3, workers), -1);
        assert_int_equal(done[0], 1);
        assert_int_equal(done[1], 1);
    }
}

UNIT_MAIN(NULL, NULL)
