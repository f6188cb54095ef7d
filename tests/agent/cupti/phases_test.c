#include "agent/cupti/calls_code.h"

#include <pthread.h>

#include "agent/dispatch/registry.h"
#include "tests/unit.h"

/* What was heard, in order: "S1 s1 e1 E1" are a start of all, of phase 1, an end of phase 1, of all. */
static char heard[512];

static void note(const char *format, uint64_t phase)
{
    size_t length = strlen(heard);
    snprintf(heard + length, sizeof(heard) - length, format, (unsigned long long)phase);
}

static uint64_t first; /* phases are numbered through: the first of each test counts as 1 */

static uint64_t number(uint64_t phase)
{
    first = first ? first : phase;
    return phase - first + 1;
}

static void all_started(void *data, const struct gputrace_compilation_start *what)
{
    (void)data;
    assert_int_equal(what->pending, 1);
    note("S%llu ", number(what->phase));
}

static void all_ended(void *data, const struct gputrace_compilation_end *what)
{
    (void)data;
    assert_int_equal(what->pending, 0);
    note("E%llu ", number(what->phase));
}

static struct gputrace_compilation_phase_end last;
static struct gputrace_compilation_phase_start begun;

static void one_started(void *data, const struct gputrace_compilation_phase_start *what)
{
    (void)data;
    begun = *what;
    note("s%llu ", number(what->phase));
}

static void one_ended(void *data, const struct gputrace_compilation_phase_end *what)
{
    (void)data;
    last = *what;
    note("e%llu ", number(what->phase));
}

static const char load[] = "cuModuleLoadData", capture[] = "cuStreamBeginCapture_v2";

static struct CUstream_st *stream(unsigned n)
{
    return (struct CUstream_st *)(uintptr_t)(0x1000 + n);
}

static struct CUctx_st *context(unsigned n)
{
    return (struct CUctx_st *)(uintptr_t)(0x2000 + n);
}

static struct gputrace_call call(const char *function, uint32_t correlation)
{
    return (struct gputrace_call){
        .start = 100, .end = 150, .function = function, .correlation = correlation, .context = context(1), .thread = 9};
}

static void load_begins(uint32_t correlation)
{
    struct gputrace_call begins = call(load, correlation);
    phase_begins(GPUTRACE_TRIGGER_MODULE_LOAD, NULL, true, &begins);
}

static void load_returns(uint32_t correlation, int32_t result)
{
    struct gputrace_call returns = call(load, correlation);
    returns.end = 170;
    returns.result = result;
    phase_call_returns(&returns);
}

static void capture_begins(unsigned n, bool bound)
{
    struct gputrace_call begins = call(capture, 50 + n);
    phase_begins(GPUTRACE_TRIGGER_GRAPH_CAPTURE, stream(n), bound, &begins);
}

UNIT_FIXTURE(listen_all)
{
    heard[0] = '\0';
    first = 0;
    return registry_compilation_start_register(all_started, NULL) | registry_compilation_end_register(all_ended, NULL) |
           registry_compilation_phase_start_register(one_started, NULL) |
           registry_compilation_phase_end_register(one_ended, NULL);
}

UNIT_FIXTURE(clear)
{
    registry_clear(REGISTRY_LIBRARY, REGISTRY_KIND_COUNT);
    registry_clear(REGISTRY_FIRST_PLUGIN, REGISTRY_KIND_COUNT);
    phases_forget();
    return phases_pending() == 0 ? 0 : -1;
}

UNIT_TEST_WITH(a_phase_alone_is_reported_four_times, listen_all, clear)
{
    load_begins(7);
    assert_int_equal(phases_pending(), 1);
    load_returns(7, 200);
    assert_string_equal(heard, "S1 s1 e1 E1 ");
    assert_int_equal(last.trigger, GPUTRACE_TRIGGER_MODULE_LOAD);
    assert_int_equal(last.ending, GPUTRACE_ENDING_RETURNED);
    assert_int_equal(last.call.start, 100);
    assert_int_equal(last.call.end, 170);
    assert_int_equal(last.call.result, 200);
    assert_string_equal(last.call.function, load);
    assert_int_equal(begun.call.start, begun.call.end);
    assert_int_equal(phases_pending(), 0);
}

UNIT_TEST_WITH(phases_within_a_phase_start_and_end_nothing_else, listen_all, clear)
{
    capture_begins(1, true);
    load_begins(7);
    load_returns(7, 0);
    load_begins(8);
    struct gputrace_call ends = call("cuStreamEndCapture", 9);
    phases_end(stream(1), NULL, &ends, GPUTRACE_ENDING_RETURNED);
    load_returns(8, 0);
    assert_string_equal(heard, "S1 s1 s2 e2 s3 e1 e3 E3 ");
}

UNIT_TEST_WITH(a_call_that_began_no_phase_ends_none, listen_all, clear)
{
    load_begins(7);
    load_returns(8, 0);
    struct gputrace_call other = call("cuModuleUnload", 7);
    phase_call_returns(&other);
    struct gputrace_call ends = call("cuStreamEndCapture", 9);
    phases_end(stream(1), NULL, &ends, GPUTRACE_ENDING_RETURNED);
    assert_int_equal(phases_pending(), 1);
    load_returns(7, 0);
    load_returns(7, 0);
    assert_string_equal(heard, "S1 s1 e1 E1 ");
}

UNIT_TEST_WITH(a_capture_ends_with_its_stream_or_context, listen_all, clear)
{
    capture_begins(1, true);
    capture_begins(2, false);
    struct gputrace_call gone = call("cuStreamDestroy_v2", 60);
    phases_end(stream(3), NULL, &gone, GPUTRACE_ENDING_STREAM_DESTROYED);
    phases_end(stream(1), NULL, &gone, GPUTRACE_ENDING_STREAM_DESTROYED);
    assert_int_equal(last.ending, GPUTRACE_ENDING_STREAM_DESTROYED);
    gone = call(NULL, 61);
    phases_end(NULL, context(2), &gone, GPUTRACE_ENDING_CONTEXT_DESTROYED);
    phases_end(NULL, context(1), &gone, GPUTRACE_ENDING_CONTEXT_DESTROYED);
    assert_int_equal(last.ending, GPUTRACE_ENDING_CONTEXT_DESTROYED);
    assert_string_equal(heard, "S1 s1 s2 e1 e2 E2 ");
}

static void *begin_and_atfork_child(void *unused)
{
    (void)unused;
    load_begins(7);
    capture_begins(1, true);
    capture_begins(2, false); /* another thread may end this one */
    return NULL;
}

UNIT_TEST_WITH(a_thread_takes_its_phases_with_it, listen_all, clear)
{
    pthread_t thread;
    pthread_create(&thread, NULL, begin_and_atfork_child, NULL);
    pthread_join(thread, NULL);
    assert_int_equal(phases_pending(), 1);
    assert_int_equal(last.ending, GPUTRACE_ENDING_THREAD_ENDED);
    struct gputrace_call ends = call("cuStreamEndCapture", 9);
    phases_end(stream(2), NULL, &ends, GPUTRACE_ENDING_RETURNED);
    assert_string_equal(heard, "S1 s1 s2 s3 e2 e1 e3 E3 ");
}

static void compile_within(void *data, const struct gputrace_compilation_phase_start *what)
{
    (void)data, (void)what;
    load_begins(99); /* what the library hears of when a callback loads a module */
    load_returns(99, 0);
}

UNIT_TEST_WITH(a_clients_own_compilation_is_no_phase, listen_all, clear)
{
    registry_add(REGISTRY_FIRST_PLUGIN, REGISTRY_compilation_phase_start, (gputrace_any_fn *)compile_within, NULL);
    load_begins(7);
    load_returns(7, 0);
    assert_string_equal(heard, "S1 s1 e1 E1 ");
}

UNIT_TEST_WITH(nobody_listening_leaves_nothing_behind, listen_all, clear)
{
    load_begins(7);
    clear(state);
    assert_int_equal(phases_pending(), 0);
    load_begins(8);
    assert_int_equal(phases_pending(), 0);
    listen_all(state);
    load_returns(7, 0);
    load_returns(8, 0);
    load_begins(9);
    load_returns(9, 0);
    assert_string_equal(heard, "S1 s1 e1 E1 ");
}

/* --- many threads --- */

static unsigned going_on, rounds;

static void more(void *data, const struct gputrace_compilation_start *what)
{
    (void)data, (void)what;
    assert_int_equal(going_on, 0); /* starts and ends take turns */
    going_on = 1;
    rounds++;
}

static void less(void *data, const struct gputrace_compilation_end *what)
{
    (void)data, (void)what;
    assert_int_equal(going_on, 1);
    going_on = 0;
}

static void *compile_much(void *unused)
{
    (void)unused;
    for (uint32_t i = 1; i <= 5000; i++) {
        load_begins(i);
        load_returns(i, 0);
    }
    return NULL;
}

UNIT_TEST_WITH(starts_and_ends_take_turns_whatever_threads_do, listen_all, clear)
{
    clear(state);
    registry_compilation_start_register(more, NULL);
    registry_compilation_end_register(less, NULL);
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, compile_much, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(going_on, 0);
    assert_true(rounds > 0);
    assert_int_equal(phases_pending(), 0);
}

UNIT_MAIN(NULL, NULL)
