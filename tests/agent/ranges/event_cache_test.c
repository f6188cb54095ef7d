/* Events of the cache: where they come from, and where they go home to. */
#include "agent/ranges/device_ranges.h"

#include <pthread.h>
#include <sys/wait.h>

#include "agent/dispatch/registry.h"
#include "tests/agent/ranges/fake_driver.h"
#include "tests/unit.h"

typedef const struct gputrace_cached_event *event;

enum { OUT_MAX = 16 };
static event out_now[OUT_MAX]; /* of this thread's */

static event take(CUcontext context, bool timing)
{
    event taken = event_cache_get(context, timing);
    unsigned i = 0;
    assert_non_null(taken);
    while (out_now[i])
        assert_true(++i < OUT_MAX);
    return out_now[i] = taken;
}

static void give_back(event taken)
{
    for (unsigned i = 0; i < OUT_MAX; i++)
        if (out_now[i] == taken)
            out_now[i] = NULL;
    event_cache_return(taken);
}

static void context_goes(CUcontext context)
{
    registry_context_deletion_publish(&(struct gputrace_context_deletion){.call = {.context = context}});
}

static unsigned created(void)
{
    return __atomic_load_n(&fake_driver_asked.created, __ATOMIC_RELAXED);
}

UNIT_FIXTURE(start)
{
    fake_driver_start(FAKE_CONTEXT_A);
    return 0;
}

/* Nothing may be left: leaks would be seen. */
UNIT_FIXTURE(end)
{
    for (unsigned i = 0; i < OUT_MAX; i++)
        if (out_now[i])
            give_back(out_now[i]);
    context_goes(FAKE_CONTEXT_A);
    context_goes(FAKE_CONTEXT_B);
    return 0;
}

/* Runs on a thread of its own, in context A, and waits for its end. */
static void *on_a_thread(void *(*run)(void *), void *data)
{
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, run, data), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    return result;
}

static void *take_one(void *context)
{
    fake_driver_enter(FAKE_CONTEXT_A);
    return (void *)(uintptr_t)event_cache_get(context, false);
}

static void *give_one_back(void *taken)
{
    event_cache_return(taken);
    return NULL;
}

static void *take_and_give_back(void *context)
{
    event taken = take_one(context);
    CUevent made = taken->event;
    event_cache_return(taken);
    return made;
}

/* --- tests --- */

UNIT_TEST_WITH(an_event_that_came_home_is_used_again, start, end)
{
    event first = take(FAKE_CONTEXT_A, false);
    CUevent made = first->event;
    give_back(first);
    for (int i = 0; i < 100; i++) {
        event again = take(FAKE_CONTEXT_A, false);
        assert_ptr_equal(again->event, made);
        give_back(again);
    }
    assert_int_equal(created(), 1);
}

UNIT_TEST_WITH(events_that_are_out_differ, start, end)
{
    event one = take(FAKE_CONTEXT_A, false), two = take(FAKE_CONTEXT_A, false);
    assert_ptr_not_equal(one->event, two->event);
    give_back(one);
    give_back(two);
    one = take(FAKE_CONTEXT_A, false), two = take(FAKE_CONTEXT_A, false);
    assert_ptr_not_equal(one->event, two->event);
    assert_int_equal(created(), 2);
}

UNIT_TEST_WITH(timing_and_other_events_are_apart, start, end)
{
    event timing = take(FAKE_CONTEXT_A, true);
    assert_true(fake_event_timing(timing->event));
    give_back(timing);
    event other = take(FAKE_CONTEXT_A, false);
    assert_false(fake_event_timing(other->event));
    give_back(other);
    assert_int_equal(created(), 2);
    assert_true(fake_event_timing(take(FAKE_CONTEXT_A, true)->event));
    assert_false(fake_event_timing(take(FAKE_CONTEXT_A, false)->event));
    assert_int_equal(created(), 2);
}

UNIT_TEST_WITH(every_context_has_its_own, start, end)
{
    event a = take(FAKE_CONTEXT_A, false), b = take(FAKE_CONTEXT_B, false);
    assert_ptr_equal(fake_event_context(a->event), FAKE_CONTEXT_A);
    assert_ptr_equal(fake_event_context(b->event), FAKE_CONTEXT_B);
    assert_ptr_equal(fake_driver_current(), FAKE_CONTEXT_A); /* as it was */
    CUevent of_a = a->event, of_b = b->event;
    give_back(a);
    give_back(b);
    assert_ptr_equal(take(FAKE_CONTEXT_B, false)->event, of_b);
    assert_ptr_equal(take(FAKE_CONTEXT_A, false)->event, of_a);
}

UNIT_TEST_WITH(no_context_means_the_current_one, start, end)
{
    assert_ptr_equal(fake_event_context(take(NULL, false)->event), FAKE_CONTEXT_A);
    fake_driver_enter(FAKE_CONTEXT_B);
    assert_ptr_equal(fake_event_context(take(NULL, false)->event), FAKE_CONTEXT_B);
    fake_driver_enter(NULL);
    assert_null(event_cache_get(NULL, false));
}

UNIT_TEST_WITH(every_thread_has_its_own, start, end)
{
    event mine = take(FAKE_CONTEXT_A, false);
    CUevent made = mine->event;
    give_back(mine);
    event theirs = on_a_thread(take_one, FAKE_CONTEXT_A);
    assert_ptr_not_equal(theirs->event, made);
    give_back(theirs);
}

UNIT_TEST_WITH(an_event_goes_home_from_any_thread, start, end)
{
    event mine = take(FAKE_CONTEXT_A, false);
    CUevent made = mine->event;
    on_a_thread(give_one_back, (void *)(uintptr_t)mine);
    assert_ptr_equal(take(FAKE_CONTEXT_A, false)->event, made);
    assert_int_equal(created(), 1);
}

/* The cache outlives its thread, and the next thread takes it over, with what is at home. */
UNIT_TEST_WITH(the_cache_of_a_thread_that_ended_is_taken_over, start, end)
{
    give_back(take(FAKE_CONTEXT_A, false)); /* this thread has one already */
    event theirs = on_a_thread(take_one, FAKE_CONTEXT_A);
    CUevent made = theirs->event;
    give_back(theirs); /* its thread is gone */
    assert_ptr_not_equal(take(FAKE_CONTEXT_A, false)->event, made);
    assert_ptr_equal(on_a_thread(take_and_give_back, FAKE_CONTEXT_A), made);
    assert_ptr_equal(on_a_thread(take_and_give_back, FAKE_CONTEXT_A), made);
    assert_int_equal(created(), 2);
}

UNIT_TEST_WITH(an_event_comes_home_to_a_cache_that_was_taken_over, start, end)
{
    event theirs = on_a_thread(take_one, FAKE_CONTEXT_A);
    CUevent made = theirs->event;
    event mine = take(FAKE_CONTEXT_A, false); /* this thread takes it over, with the event out */
    assert_ptr_not_equal(mine->event, made);
    give_back(theirs);
    assert_ptr_equal(take(FAKE_CONTEXT_A, false)->event, made);
}

UNIT_TEST_WITH(events_of_a_context_that_is_gone_are_forgotten, start, end)
{
    event kept = take(FAKE_CONTEXT_A, false), out = take(FAKE_CONTEXT_A, false);
    event other = take(FAKE_CONTEXT_B, false), theirs = on_a_thread(take_one, FAKE_CONTEXT_A);
    CUevent gone[] = {kept->event, out->event, theirs->event}, of_b = other->event;
    give_back(kept);
    give_back(other);
    context_goes(FAKE_CONTEXT_A);
    give_back(out); /* late */
    give_back(theirs);
    for (int i = 0; i < 3; i++) { /* another context has come to be at the same address */
        event fresh = take(FAKE_CONTEXT_A, false);
        for (int j = 0; j < 3; j++)
            assert_ptr_not_equal(fresh->event, gone[j]);
    }
    assert_ptr_equal(take(FAKE_CONTEXT_B, false)->event, of_b);
}

UNIT_TEST_WITH(an_event_given_back_twice_is_at_home_once, start, end)
{
    event one = take(FAKE_CONTEXT_A, false);
    give_back(one);
    give_back(one);
    give_back(NULL);
    event two = take(FAKE_CONTEXT_A, false), three = take(FAKE_CONTEXT_A, false);
    assert_ptr_not_equal(two->event, three->event);
}

UNIT_TEST_WITH(what_cuda_refuses_is_not_given, start, end)
{
    fake_driver_says.create = CUDA_ERROR_OUT_OF_MEMORY;
    assert_null(event_cache_get(FAKE_CONTEXT_A, false));
    fake_driver_says.create = CUDA_SUCCESS;
    assert_non_null(take(FAKE_CONTEXT_A, false));
    driver_replace(NULL); /* this process has no CUDA */
    assert_null(event_cache_get(FAKE_CONTEXT_A, true));
    assert_null(event_cache_get(NULL, true));
}

/* A capture that goes on meanwhile is not broken, and the thread's mode is as before. */
UNIT_TEST_WITH(events_are_made_in_the_relaxed_mode, start, end)
{
    assert_int_equal(fake_event_mode(take(FAKE_CONTEXT_A, false)->event), CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    fake_driver.cuThreadExchangeStreamCaptureMode(&mode);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* --- our own calls --- */

static struct gputrace_plugin_window window;
static unsigned windows;

static void window_reported(void *data, const struct gputrace_plugin_window *what)
{
    (void)data;
    window = *what;
    windows++;
}

static bool in_client_while_creating;

static CUresult look_and_create(CUevent *made, unsigned flags)
{
    in_client_while_creating = epoch_reader()->in_client;
    return fake_driver.cuEventCreate(made, flags);
}

UNIT_TEST_WITH(making_one_is_nobodys_business, start, end)
{
    struct driver looking = fake_driver;
    looking.cuEventCreate = look_and_create;
    driver_replace(&looking);
    assert_int_equal(registry_plugin_window_register(window_reported, NULL), 0);
    windows = 0;
    event one = take(FAKE_CONTEXT_A, false);
    assert_true(in_client_while_creating);
    assert_false(epoch_reader()->in_client);
    assert_int_equal(windows, 1);
    assert_true(window.start > 0 && window.end >= window.start);
    give_back(one);
    take(FAKE_CONTEXT_A, false); /* nothing is called */
    assert_int_equal(windows, 1);
    epoch_reader()->in_client = true; /* in a callback, whose window the caller reports */
    take(FAKE_CONTEXT_A, false);
    assert_true(epoch_reader()->in_client);
    epoch_reader()->in_client = false;
    assert_int_equal(windows, 1);
    registry_clear(REGISTRY_LIBRARY, REGISTRY_plugin_window);
}

UNIT_TEST_WITH(a_forked_child_starts_empty, start, end)
{
    event out = take(FAKE_CONTEXT_A, false), kept = take(FAKE_CONTEXT_A, false);
    CUevent parents[] = {out->event, kept->event};
    give_back(kept);
    pid_t child = fork();
    if (child == 0) {
        event_cache_atfork_child();
        give_back(out); /* the parent's */
        event one = take(FAKE_CONTEXT_A, false), two = take(FAKE_CONTEXT_A, false);
        _exit(one->event == parents[0] || one->event == parents[1] || two->event == parents[0] ||
              two->event == parents[1]);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ptr_equal(take(FAKE_CONTEXT_A, false)->event, parents[1]);
}

/* --- many threads --- */

enum { THREADS = 8, ROUNDS = 4000, SLOTS = 16, LIVES = 3 };

static event slots[SLOTS];

/* Takes events, leaves them where other threads find them, and gives back what others left. */
static void *pass_on(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;
    fake_driver_enter(FAKE_CONTEXT_A);
    for (int i = 0; i < ROUNDS; i++) {
        bool b = rand_r(&seed) % 4 == 0;
        event taken = event_cache_get(b ? FAKE_CONTEXT_B : FAKE_CONTEXT_A, rand_r(&seed) % 2);
        if (!taken)
            return (void *)1;
        fake_driver.cuEventRecord(taken->event, fake_stream(b ? FAKE_CONTEXT_B : FAKE_CONTEXT_A, 1));
        event found = __atomic_exchange_n(&slots[(unsigned)rand_r(&seed) % SLOTS], taken, __ATOMIC_ACQ_REL);
        event_cache_return(found);
    }
    return NULL;
}

static void *let_contexts_go(void *done)
{
    while (!__atomic_load_n((bool *)done, __ATOMIC_ACQUIRE))
        context_goes((CUcontext)0xc000); /* one that nobody uses */
    return NULL;
}

UNIT_TEST_WITH(many_threads_pass_events_on, start, end)
{
    pthread_t threads[THREADS], other;
    bool done = false;
    assert_int_equal(pthread_create(&other, NULL, let_contexts_go, &done), 0);
    for (uintptr_t life = 0; life < LIVES; life++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, pass_on, (void *)(1 + life * THREADS + i)), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            void *failed;
            assert_int_equal(pthread_join(threads[i], &failed), 0);
            assert_null(failed);
        }
    }
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    for (unsigned i = 0; i < SLOTS; i++) {
        event_cache_return(slots[i]);
        slots[i] = NULL;
    }
    assert_int_equal(fake_driver_asked.wrong, 0);
    /* No more than can have been out at a time, of each sort: threads of later lives use what the first ones made. */
    assert_true(created() <= 4 * (SLOTS + THREADS) * THREADS);
}

UNIT_MAIN(NULL, NULL)
