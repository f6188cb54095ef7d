#include "tests/unit.h"

#include <fcntl.h>

#include "common/machine.h"
#include "perf/cpu_process.h"
#include "tests/trace/meaning/trace_reading.h"

/* From perf events to the trace. Pids are beyond those of the machine, so that /proc has nothing of them. */
#define PID 90000001u
#define THREAD 90000002u
#define START (MAKE_SPOOL_START - 1000000) /* CLOCK_REALTIME minus CLOCK_MONOTONIC */

static struct cpu_processes processes;
static const char *directory;

UNIT_FIXTURE(begin)
{
    directory = unit_directory();
    processes = (struct cpu_processes){.clock_offset = (int64_t)START, .unwinder = unwinder_new(0, EM_X86_64)};
    processes.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(processes.directory >= 0 && processes.unwinder);
    return 0;
}

UNIT_FIXTURE(end)
{
    unwinder_free(processes.unwinder);
    close(processes.directory);
    unit_remove(directory);
    return 0;
}

/* TIME: ns after MAKE_SPOOL_START. */
static struct perf_record record(enum perf_kind kind, uint32_t tid, uint64_t time)
{
    return (struct perf_record){.kind = kind, .pid = PID, .tid = tid, .time = 1000000 + time};
}

static void take(enum perf_kind kind, uint32_t tid, uint64_t time)
{
    struct perf_record taken = record(kind, tid, time);
    cpu_processes_take(&processes, &taken);
}

static void take_place(enum perf_kind kind, uint32_t tid, uint64_t time, const uint64_t *calls, size_t count,
                       uint64_t prev_state)
{
    struct perf_record taken = record(kind, tid, time);
    taken.place.calls = calls;
    taken.place.call_count = count;
    taken.place.state = prev_state;
    taken.place.system_tid = prev_state == PERF_STATE_UNKNOWN ? 0 : tid + 100;
    cpu_processes_take(&processes, &taken);
}

static void take_name(uint32_t tid, uint64_t time, const char *name, bool exec)
{
    struct perf_record taken = record(PERF_KIND_NAME, tid, time);
    taken.name.text = name;
    taken.name.exec = exec;
    cpu_processes_take(&processes, &taken);
}

static struct trace finish(uint64_t time)
{
    cpu_processes_finish(&processes, 1000000 + time);
    return trace_convert(directory);
}

static const cJSON *state_of(const struct trace *trace, int i)
{
    return trace_event(trace, "X", "thread_state", NULL, i);
}

UNIT_TEST_WITH(samples_have_their_time_thread_and_stack, begin, end)
{
    static const uint64_t one[] = {0x10, 0x20}, two[] = {0x30};
    take_name(PID, 100, "app", true);
    take_place(PERF_KIND_SAMPLE, PID, 1000, one, 2, PERF_STATE_UNKNOWN);
    take_place(PERF_KIND_SAMPLE, PID, 2000, two, 1, PERF_STATE_UNKNOWN);
    take_place(PERF_KIND_SAMPLE, PID, 3000, one, 2, PERF_STATE_UNKNOWN);
    take_place(PERF_KIND_SAMPLE, PID, 4000, NULL, 0, PERF_STATE_UNKNOWN);
    struct trace trace = finish(5000);
    static const int stacks[] = {2, 3, 2}; /* their innermost frames */
    for (int i = 0; i < 4; i++) {
        const cJSON *sample = trace_event(&trace, "i", "cpu_sample", NULL, i);
        assert_int_equal(event_ns(sample, "ts"), 1000 * (i + 1));
        assert_int_equal(event_number(sample, "tid"), PID);
        assert_string_equal(row_name(&trace, sample), "thread 90000001 (app)");
        if (i < 3)
            assert_true(arg_is(sample, "stack", stacks[i]));
        else
            assert_null(event_arg(sample, "stack"));
    }
    trace_release(&trace);
}

UNIT_TEST_WITH(a_thread_is_off_from_out_to_in_with_stack_state_and_waker, begin, end)
{
    static const uint64_t calls[] = {0x10};
    take_place(PERF_KIND_LEAVE, THREAD, 900, calls, 1, 2);
    take(PERF_KIND_OUT, THREAD, 1000);
    struct perf_record wake = record(PERF_KIND_WAKE, PID, 1500);
    wake.wake.system_tid = THREAD + 100;
    cpu_processes_take(&processes, &wake);
    take(PERF_KIND_IN, THREAD, 2000);
    take(PERF_KIND_OUT, THREAD, 3000); /* what was known of the first time is not of this one */
    wake.wake.interrupted = true;
    wake.time += 1500;
    cpu_processes_take(&processes, &wake);
    take(PERF_KIND_IN, THREAD, 4000);
    struct perf_record out = record(PERF_KIND_OUT, THREAD, 5000);
    out.preempted = true;
    cpu_processes_take(&processes, &out);
    struct trace trace = finish(7000);
    assert_int_equal(trace_count(&trace, "X", "thread_state", NULL), 3);
    static const char *const names[] = {"Disk wait", "Sleeping", "Runnable"};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(event_text(state_of(&trace, i), "name"), names[i]);
        assert_int_equal(event_ns(state_of(&trace, i), "ts"), 1000 + 2000 * i);
        assert_int_equal(event_ns(state_of(&trace, i), "dur"), i < 2 ? 1000 : 2000); /* the last: up to the end */
        assert_int_equal(event_arg(state_of(&trace, i), "stack") != NULL, i == 0);
        assert_int_equal(event_arg(state_of(&trace, i), "waker") != NULL, i == 0);
    }
    assert_true(arg_is(state_of(&trace, 0), "waker", PID));
    trace_release(&trace);
}

UNIT_TEST_WITH(after_a_loss_no_thread_is_taken_to_be_off, begin, end)
{
    take(PERF_KIND_OUT, THREAD, 1000);
    struct perf_record lost = record(PERF_KIND_LOST, PID, 1500);
    lost.lost = 3;
    cpu_processes_take(&processes, &lost);
    take(PERF_KIND_IN, THREAD, 2000);
    take(PERF_KIND_OUT, THREAD, 3000);
    take(PERF_KIND_IN, THREAD, 4000);
    struct trace trace = finish(5000);
    assert_int_equal(trace_count(&trace, "X", "thread_state", NULL), 1);
    assert_int_equal(event_ns(state_of(&trace, 0), "ts"), 3000);
    assert_int_equal(trace.summary.losses.cpu_lost, 3);
    trace_release(&trace);
}

UNIT_TEST_WITH(exec_begins_another_image_and_exit_ends_the_process, begin, end)
{
    static const uint64_t calls[] = {0x10}, others[] = {0x20};
    take_name(PID, 100, "first", true);
    take_place(PERF_KIND_SAMPLE, PID, 1000, calls, 1, PERF_STATE_UNKNOWN);
    take_name(PID, 1500, "second", true);
    take_place(PERF_KIND_SAMPLE, PID, 2000, others, 1, PERF_STATE_UNKNOWN);
    take(PERF_KIND_EXIT, PID, 3000);
    assert_int_equal(map_count(&processes.processes), 0);
    assert_int_equal(map_count(&processes.threads), 0);
    struct trace trace = finish(5000);
    assert_int_equal(trace_count(&trace, "i", "cpu_sample", NULL), 2);
    assert_false(arg_is(trace_event(&trace, "i", "cpu_sample", NULL, 1), "stack", 1)); /* numbers are the image's own */
    assert_int_equal(event_number(trace_event(&trace, "i", "cpu_sample", NULL, 1), "pid"), PID);
    trace_release(&trace);
}

UNIT_TEST_WITH(only_the_time_window_and_the_first_process_are_recorded, begin, end)
{
    processes.from = MAKE_SPOOL_START + 1500;
    processes.to = MAKE_SPOOL_START + 2500;
    processes.first = PID;
    for (uint64_t time = 1000; time <= 3000; time += 1000)
        take_place(PERF_KIND_SAMPLE, PID, time, NULL, 0, PERF_STATE_UNKNOWN);
    struct perf_record other = record(PERF_KIND_SAMPLE, THREAD, 2000);
    other.pid = THREAD;
    cpu_processes_take(&processes, &other);
    struct trace trace = finish(5000);
    assert_int_equal(trace_count(&trace, "i", "cpu_sample", NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "i", "cpu_sample", NULL, 0), "ts"), 2000);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
