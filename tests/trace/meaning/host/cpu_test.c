#include "tests/unit.h"

#include "tests/trace/meaning/trace_reading.h"

#define PID 1234
#define THREAD 1240

/* What the launcher writes of a process. */
static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 0);
    make_spool_header(spool)->by_launcher = 1;
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
}

static void make_stack(struct make_spool *spool, uint32_t number, const uint64_t *words, size_t count)
{
    struct spool_stack *stack =
        make_own(spool, SPOOL_RECORD_STACK, 1000, sizeof(*stack), sizeof(stack->text), words, count * sizeof(*words));
    stack->stack = number;
    stack->length = (uint32_t)(count * sizeof(*words));
}

static void make_sample(struct make_spool *spool, uint64_t time, uint32_t thread, uint32_t stack)
{
    struct spool_cpu_sample *sample = make_own(spool, SPOOL_RECORD_CPU_SAMPLE, time, sizeof(*sample), 0, NULL, 0);
    sample->thread = thread;
    sample->stack = stack;
}

static struct spool_thread_state *make_state(struct make_spool *spool, uint64_t start, uint64_t end, uint16_t state)
{
    struct spool_thread_state *made = make_own(spool, SPOOL_RECORD_THREAD_STATE, start, sizeof(*made), 0, NULL, 0);
    made->head.flags = state;
    made->end = MAKE_SPOOL_START + end;
    made->thread = THREAD;
    return made;
}

/* Addresses below 0x100 have no name; others are of functions of 0x1000 bytes, of lines of 0x100. */
static int name(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                struct stack_frame *frames)
{
    static const char *const names[] = {"zero", "one", "two", "three"};
    (void)data;
    (void)maps;
    for (size_t i = 0; i < count; i++) {
        frames[i].function = addresses[i] < 0x100 ? NULL : names[addresses[i] / 0x1000 % 4];
        frames[i].line = addresses[i] < 0x100 ? 0 : (uint32_t)(addresses[i] / 0x100);
    }
    return 0;
}

static const struct frame_namer namer = {.name = name};

UNIT_TEST(a_sample_is_an_instant_on_the_row_of_its_thread_named_after_the_function)
{
    static const uint64_t words[] = {0x1010, 0x2020};
    struct make_spool spool;
    begin(&spool);
    make_thread_name(&spool, THREAD, "worker", 0);
    make_stack(&spool, 1, words, 2);
    make_sample(&spool, 5000, THREAD, 1);
    make_sample(&spool, 6000, THREAD, 0);
    make_sample(&spool, 7000, THREAD, 99); /* of a stack that is lost */
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of_named(&spool, &namer);
    const cJSON *sample = trace_event(&trace, "i", "cpu_sample", NULL, 0);
    assert_string_equal(event_text(sample, "name"), "one");
    assert_int_equal(event_ns(sample, "ts"), 5000);
    assert_int_equal(event_number(sample, "tid"), THREAD);
    assert_int_equal(event_number(sample, "pid"), PID);
    assert_string_equal(row_name(&trace, sample), "thread 1240 (worker)");
    assert_true(arg_is(sample, "stack", 2)); /* its innermost frame */
    for (int i = 1; i <= 2; i++) {
        assert_string_equal(event_text(trace_event(&trace, "i", "cpu_sample", NULL, i), "name"), "?");
        assert_null(event_arg(trace_event(&trace, "i", "cpu_sample", NULL, i), "stack"));
    }
    assert_int_equal(trace.summary.processes, 0); /* that the library recorded */
    assert_true(trace.summary.cpu);
    trace_release(&trace);
}

UNIT_TEST(stacks_that_differ_within_a_line_are_one)
{
    static const uint64_t first[] = {0x1010, 0x2020}, same[] = {0x10f0, 0x2020}, line[] = {0x1110, 0x2020},
                          caller[] = {0x1010, 0x2030}, unnamed[] = {0x10, 0x2020}, other[] = {0x11, 0x2020};
    static const uint64_t *const stacks[] = {first, same, line, caller, unnamed, other};
    static const unsigned expected[] = {2, 2, 3, 5, 6, 7}; /* innermost frames */
    struct make_spool spool;
    begin(&spool);
    for (uint32_t i = 0; i < 6; i++) {
        make_stack(&spool, i + 1, stacks[i], 2);
        make_sample(&spool, 5000 + i * 1000, THREAD, i + 1);
    }
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of_named(&spool, &namer);
    for (int i = 0; i < 6; i++)
        assert_true(arg_is(trace_event(&trace, "i", "cpu_sample", NULL, i), "stack", expected[i]));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace.json, "stackFrames")), 7);
    trace_release(&trace);
}

UNIT_TEST(time_off_the_processor_is_a_slice_on_a_row_beside_the_thread)
{
    static const uint64_t words[] = {0x3010};
    static const char *const names[] = {"Off CPU", "Sleeping", "Runnable", "Disk wait", "Off CPU"};
    struct make_spool spool;
    begin(&spool);
    make_thread_name(&spool, THREAD, "worker", 0);
    make_stack(&spool, 1, words, 1);
    for (uint16_t i = 0; i < 5; i++)
        make_state(&spool, 5000 + i * 1000u, 5500 + i * 1000u, i)->stack = i == 1;
    make_state(&spool, 20000, 21000, SPOOL_THREAD_SLEEPING)->waker = 77;
    make_state(&spool, 30000, 29000, SPOOL_THREAD_SLEEPING); /* ends before it begins */
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of_named(&spool, &namer);
    assert_int_equal(trace_count(&trace, "X", "thread_state", NULL), 6);
    for (int i = 0; i < 5; i++) {
        const cJSON *slice = trace_event(&trace, "X", "thread_state", NULL, i);
        assert_string_equal(event_text(slice, "name"), names[i]);
        assert_int_equal(event_ns(slice, "ts"), 5000 + i * 1000);
        assert_int_equal(event_ns(slice, "dur"), 500);
        assert_true(arg_is(slice, "thread", THREAD));
        assert_int_equal(event_arg(slice, "stack") != NULL, i == 1);
        assert_null(event_arg(slice, "waker"));
        assert_string_equal(row_name(&trace, slice), "state of thread 1240 (worker)");
    }
    assert_true(arg_is(trace_event(&trace, "X", "thread_state", NULL, 5), "waker", 77));
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

/* The library's spool of PID, and what the launcher wrote; NAMESPACE may differ. */
static struct trace both(uint64_t started)
{
    struct make_spool spool;
    char path[300];
    const char *directory = unit_directory();
    make_spool_begin(&spool, PID, PID);
    make_thread_name(&spool, PID, "main", 0);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 2000, .text = "mark"});
    make_spool_header(&spool)->process_started = 7;
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
    begin(&spool);
    make_spool_header(&spool)->process_started = started;
    make_thread_name(&spool, PID, "main", 0);
    make_thread_name(&spool, THREAD, "other", 0);
    make_sample(&spool, 5000, PID, 0);
    make_sample(&spool, 6000, THREAD, 0);
    make_spool_done(&spool, SPOOL_DONE);
    snprintf(path, sizeof(path), "%s/%d-0.cpu", directory, PID);
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
    struct trace trace = trace_convert(directory);
    unit_remove(directory);
    return trace;
}

static void assert_one_process(const struct trace *trace)
{
    const cJSON *own = cJSON_GetObjectItem(trace->json, "gputrace");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(own, "processes")), 1);
    assert_int_equal(trace_count(trace, "M", NULL, "process_name"), 1);
    assert_int_equal(trace_count(trace, "M", NULL, "thread_name"), 2); /* of PID and THREAD, each once */
    assert_int_equal(trace_count(trace, "i", "cpu_sample", NULL), 2);
    assert_int_equal(event_number(trace_event(trace, "i", "cpu_sample", NULL, 0), "pid"), PID);
    assert_int_equal(trace->summary.processes, 1);
}

UNIT_TEST(samples_are_on_the_rows_of_the_spool_of_their_process)
{
    struct trace trace = both(7);
    assert_one_process(&trace);
    trace_release(&trace);
}

UNIT_TEST(a_process_that_could_not_be_asked_who_it_is_has_the_rows_of_its_pid)
{
    struct trace trace = both(0);
    assert_int_equal(event_number(trace_event(&trace, "i", "cpu_sample", NULL, 0), "pid"), PID);
    trace_release(&trace);
}

/* --- what is shown --- */

#define WORKER_PID 5000

static const char *directory;

/* The library's spool of PID, which is number IMAGE of it, began with MARKS and has an own thread. */
struct mark {
    uint64_t time;
    int on;
};
static void save_library(unsigned image, uint64_t started, const struct mark *marks, size_t count)
{
    struct make_spool spool;
    char path[300];
    make_spool_begin(&spool, PID, PID);
    make_spool_header(&spool)->started = MAKE_SPOOL_START + started;
    make_spool_header(&spool)->own_threads[0] = PID + 1;
    for (size_t i = 0; i < count; i++)
        make_capture(&spool, marks[i].time, marks[i].on, "a reason");
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 2000, .text = "mark"});
    make_spool_done(&spool, SPOOL_DONE);
    snprintf(path, sizeof(path), "%s/%d-%u.spool", directory, PID, image);
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
}

/* What the launcher wrote of a process: a sample each 1000 ns from 1000 to 9000, and a state from 1500 to 9500. */
static void save_launcher(uint32_t pid, unsigned image, uint64_t started)
{
    struct make_spool spool;
    char path[300];
    make_spool_init(&spool, pid, 0);
    make_spool_header(&spool)->by_launcher = 1;
    make_spool_header(&spool)->started = MAKE_SPOOL_START + started;
    make_spool_chunk(&spool, SPOOL_RECORDS, pid);
    for (uint64_t time = 1000; time < 10000; time += 1000)
        make_sample(&spool, time, pid, 0);
    make_state(&spool, 1500, 9500, SPOOL_THREAD_SLEEPING)->thread = pid;
    make_sample(&spool, 4200, PID + 1, 0);
    make_state(&spool, 4300, 4400, SPOOL_THREAD_SLEEPING)->thread = PID + 1;
    make_spool_done(&spool, SPOOL_DONE);
    snprintf(path, sizeof(path), "%s/%u-%u.cpu", directory, pid, image);
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
}

/* Samples and states of PID in order of time, as text: "4000 5000 [4000-6000]". */
static const char *shown(const struct trace *trace, uint32_t pid)
{
    static char text[1000];
    const cJSON *event;
    int length = 0;
    text[0] = '\0';
    for (int i = 0; (event = trace_event(trace, "i", "cpu_sample", NULL, i)); i++)
        if (event_number(event, "pid") == pid)
            length += snprintf(text + length, sizeof(text) - (size_t)length, "%ld ", event_ns(event, "ts"));
    for (int i = 0; (event = trace_event(trace, "X", "thread_state", NULL, i)); i++)
        if (event_number(event, "pid") == pid)
            length += snprintf(text + length, sizeof(text) - (size_t)length, "[%ld-%ld] ", event_ns(event, "ts"),
                               event_ns(event, "ts") + event_ns(event, "dur"));
    return text;
}

static struct trace convert(void)
{
    struct trace trace = trace_convert(directory);
    unit_remove(directory);
    return trace;
}

#define ALL "1000 2000 3000 4000 5000 6000 7000 8000 9000 [1500-9500] "

UNIT_TEST(threads_of_the_library_are_left_out_and_those_of_a_process_without_it_are_not)
{
    directory = unit_directory();
    save_library(0, 100, NULL, 0);
    save_launcher(PID, 0, 50);
    save_launcher(WORKER_PID, 0, 50);
    struct trace trace = convert();
    assert_string_equal(shown(&trace, PID), ALL);
    assert_string_equal(shown(&trace, WORKER_PID),
                        "1000 2000 3000 4000 5000 6000 7000 8000 9000 4200 [1500-9500] [4300-4400] ");
    trace_release(&trace);
}

UNIT_TEST(samples_and_parts_of_states_are_of_captured_time_also_of_a_process_without_the_library)
{
    static const struct mark marks[] = {{200, 0}, {3500, 1}, {5000, 0}, {7500, 1}, {8500, 0}};
    directory = unit_directory();
    save_library(0, 100, marks, 5);
    save_launcher(PID, 0, 50);
    save_launcher(WORKER_PID, 0, 50);
    struct trace trace = convert();
    assert_string_equal(shown(&trace, PID), "4000 8000 [3500-5000] [7500-8500] ");
    assert_string_equal(shown(&trace, WORKER_PID), "4000 8000 4200 [3500-5000] [7500-8500] [4300-4400] ");
    trace_release(&trace);
}

UNIT_TEST(a_program_that_becomes_another_one_has_the_captures_of_each)
{
    static const struct mark first[] = {{200, 0}, {1500, 1}, {3500, 0}}, second[] = {{5200, 0}, {6500, 1}};
    directory = unit_directory();
    save_library(0, 100, first, 3);
    save_library(1, 5100, second, 2);
    save_launcher(PID, 0, 50);
    save_launcher(PID, 1, 5050);
    save_launcher(WORKER_PID, 0, 50);
    struct trace trace = convert();
    assert_string_equal(shown(&trace, PID), "2000 3000 7000 8000 9000 [1500-3500] [6500-9500] ");
    assert_string_equal(shown(&trace, WORKER_PID), "2000 3000 7000 8000 9000 [1500-3500] [6500-9500] ");
    trace_release(&trace);
}

UNIT_TEST(a_process_that_records_all_the_time_shows_what_others_without_the_library_do)
{
    static const struct mark marks[] = {{200, 0}, {3500, 1}};
    directory = unit_directory();
    save_library(0, 100, marks, 2);
    struct make_spool spool;
    make_spool_begin(&spool, PID + 7, PID + 7);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 2000, .text = "mark"});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
    save_launcher(PID, 0, 50);
    save_launcher(WORKER_PID, 0, 50);
    struct trace trace = convert();
    assert_string_equal(shown(&trace, PID), "4000 5000 6000 7000 8000 9000 [3500-9500] ");
    assert_string_equal(shown(&trace, WORKER_PID),
                        "1000 2000 3000 4000 5000 6000 7000 8000 9000 4200 [1500-9500] [4300-4400] ");
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
