#include "tests/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/pieces.h"

enum { MOST = 64 };

struct sums {
    size_t made[MOST];     /* by slot: the piece that lies in it, + 1 */
    size_t taken;          /* pieces so far */
    size_t fails, resists; /* the piece that cannot be made, or taken; SIZE_MAX: none */
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
    return pieces_run(
        &(struct pieces){.count = count, .workers = workers, .make = make, .take = take, .context = sums});
}

static struct sums nothing_fails(void)
{
    return (struct sums){.fails = SIZE_MAX, .resists = SIZE_MAX};
}

static void pieces_are_taken_in_order_whatever_the_number_of_threads(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers <= 9; workers++) {
        struct sums sums = nothing_fails();
        assert_int_equal(run(&sums, workers, 1000), 0);
        assert_int_equal(sums.taken, 1000);
        assert_false(sums.taken_elsewhere);
        assert_int_equal(sums.made_by_caller, workers <= 1);
        assert_true(sums.most_in_flight <= pieces_slots(workers));
    }
}

static void no_piece_and_one_piece_need_no_threads(void **state)
{
    (void)state;
    for (size_t count = 0; count < 2; count++) {
        struct sums sums = nothing_fails();
        assert_int_equal(run(&sums, 4, count), 0);
        assert_int_equal(sums.taken, count);
        assert_int_equal(sums.made_by_caller, count == 1);
    }
}

static void a_piece_that_fails_ends_it_after_those_before(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 5; workers++) {
        struct sums sums = nothing_fails();
        sums.fails = 123;
        assert_int_equal(run(&sums, workers, 1000), -1);
        assert_int_equal(sums.taken, 123);
    }
}

static void taking_that_fails_ends_it_too(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 5; workers++) {
        struct sums sums = nothing_fails();
        sums.resists = 77;
        assert_int_equal(run(&sums, workers, 1000), -1);
        assert_int_equal(sums.taken, 77);
    }
}

static void workers_are_those_that_may_run_here(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_true(pieces_workers(1) == 1);
    assert_true(pieces_workers(1000) == (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(pieces_workers(1000), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_taken_in_order_whatever_the_number_of_threads),
        cmocka_unit_test(no_piece_and_one_piece_need_no_threads),
        cmocka_unit_test(a_piece_that_fails_ends_it_after_those_before),
        cmocka_unit_test(taking_that_fails_ends_it_too),
        cmocka_unit_test(workers_are_those_that_may_run_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
