/*
 * Memory in the trace: counters for each device and kind, instants for each operation.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502 };

static void allocate(struct make_spool *spool, uint64_t time, uint64_t address, uint64_t size, uint16_t kind)
{
    bool host = kind == SPOOL_MEMORY_PINNED;
    make_memory(spool, (struct make_memory){.time = time,
                                            .address = address,
                                            .size = size,
                                            .kind = kind,
                                            .device = host ? SPOOL_NO_DEVICE : 0,
                                            .thread = THREAD,
                                            .correlation = 5,
                                            .operation = SPOOL_MEMORY_ALLOCATE});
}

static void give_back(struct make_spool *spool, uint64_t time, uint64_t address, int32_t result)
{
    make_memory(spool, (struct make_memory){.time = time,
                                            .address = address,
                                            .device = SPOOL_NO_DEVICE,
                                            .thread = THREAD,
                                            .result = result,
                                            .operation = SPOOL_MEMORY_RELEASE});
}

static void assert_levels(const struct trace *trace, const char *name, const double *levels, int count)
{
    assert_int_equal(trace_count(trace, "C", NULL, name), count);
    for (int i = 0; i < count; i++)
        assert_true(arg_is(trace_event(trace, "C", NULL, name, i), "bytes", levels[i]));
}

UNIT_TEST(test_a_counter_follows_each_kind)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 2000, 0x2000, 50, SPOOL_MEMORY_PINNED);
    allocate(&spool, 3000, 0x3000, 7, SPOOL_MEMORY_DEVICE);
    give_back(&spool, 4000, 0x1000, 0);
    give_back(&spool, 5000, 0x2000, 0);
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 107, 7}, 3);
    assert_levels(&trace, "Memory in use: Pinned", (double[]){50, 0}, 2);
    assert_int_equal(event_number(trace_event(&trace, "C", NULL, "Memory in use: Device", 0), "pid"), 0);
    assert_int_equal(event_number(trace_event(&trace, "C", NULL, "Memory in use: Pinned", 0), "pid"), PID);
    assert_true(trace.summary.cuda);
    trace_release(&trace);
}

UNIT_TEST(test_a_release_takes_size_and_kind_from_its_allocation)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0xdeadbeef000, 100, SPOOL_MEMORY_MANAGED);
    give_back(&spool, 4000, 0xdeadbeef000, 0);
    struct trace trace = trace_of_done(&spool);
    const cJSON *gone = trace_event(&trace, "i", "memory", "Release Managed", 0);
    assert_true(arg_is(gone, "bytes", 100) && arg_is(gone, "device", 0) && arg_text_is(gone, "kind", "Managed"));
    assert_true(arg_text_is(gone, "address", "0xdeadbeef000"));
    assert_int_equal(event_number(gone, "tid"), THREAD);
    trace_release(&trace);
}

UNIT_TEST(test_failed_operations_are_shown_and_change_nothing)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    make_memory(&spool, (struct make_memory){.time = 2000,
                                             .size = 1 << 30,
                                             .thread = THREAD,
                                             .result = 2,
                                             .kind = SPOOL_MEMORY_DEVICE,
                                             .operation = SPOOL_MEMORY_ALLOCATE});
    give_back(&spool, 3000, 0x1000, 1);
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100}, 1);
    const cJSON *failed = trace_event(&trace, "i", "memory", "Allocate Device failed", 0);
    assert_true(arg_is(failed, "result", 2) && arg_text_is(failed, "error", "CUDA_ERROR_OUT_OF_MEMORY"));
    assert_int_equal(trace_count(&trace, "i", "memory", "Release Device failed"), 1);
    trace_release(&trace);
}

UNIT_TEST(test_steps_of_several_threads_are_taken_by_time)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    give_back(&spool, 2000, 0x1000, 0);
    give_back(&spool, 4000, 0x1000, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 3000, 0x1000, 30, SPOOL_MEMORY_DEVICE);
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 0, 30, 0}, 4);
    trace_release(&trace);
}

UNIT_TEST(test_an_address_given_out_again_early_is_released_in_order)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 2000, 0x1000, 30, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 2500, 0x1000, 1, SPOOL_MEMORY_DEVICE);
    give_back(&spool, 3000, 0x1000, 0);
    give_back(&spool, 4000, 0x1000, 0);
    give_back(&spool, 5000, 0x1000, 0);
    give_back(&spool, 6000, 0x1000, 0); /* of nothing */
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 130, 131, 31, 1, 0}, 6);
    assert_null(event_arg(trace_event(&trace, "i", "memory", "Release", 3), "bytes"));
    trace_release(&trace);
}

UNIT_TEST(test_a_context_takes_its_memory_with_it)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 1500, 0x2000, 50, SPOOL_MEMORY_ARRAY);
    allocate(&spool, 1600, 0x3000, 25, SPOOL_MEMORY_PINNED);
    make_memory(&spool, (struct make_memory){.time = 1700,
                                             .address = 0x4000,
                                             .size = 10,
                                             .context = 2,
                                             .thread = THREAD,
                                             .kind = SPOOL_MEMORY_DEVICE,
                                             .operation = SPOOL_MEMORY_ALLOCATE});
    make_context_end(&spool, 2000, 1, 0);
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 110, 10}, 3);
    assert_levels(&trace, "Memory in use: Array", (double[]){50, 0}, 2);
    assert_levels(&trace, "Memory in use: Pinned", (double[]){25}, 1);
    assert_int_equal(trace_count(&trace, "i", "memory", "Release"), 2);
    const cJSON *gone = trace_event(&trace, "i", "memory", "Release Device", 0);
    assert_true(arg_text_is(gone, "address", "0x1000") && arg_is(gone, "bytes", 100));
    assert_true(arg_text_is(gone, "ending", "context destroyed") && !event_arg(gone, "fault"));
    assert_int_equal(event_ns(gone, "ts"), 2000);
    assert_int_equal(event_number(gone, "tid"), THREAD);
    trace_release(&trace);
}

UNIT_TEST(test_what_goes_with_the_process_was_not_freed)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    make_context_end(&spool, 2000, 1, 0);
    make_spool_header(&spool)->finished = MAKE_SPOOL_START + 1500;
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Memory in use: Device", (double[]){100}, 1);
    assert_int_equal(trace_count(&trace, "i", "memory", "Release"), 0);
    trace_release(&trace);
}

UNIT_TEST(test_double_frees_are_distinguished_from_unknown_ones)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    give_back(&spool, 2000, 0x1000, 0);
    give_back(&spool, 3000, 0x1000, 1);
    give_back(&spool, 4000, 0x7000, 1);
    give_back(&spool, 5000, 0x7000, 0); /* that it was given back is not known to have freed anything */
    allocate(&spool, 6000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    give_back(&spool, 7000, 0x1000, 0);
    struct trace trace = trace_of_done(&spool);
    const cJSON *twice = trace_event(&trace, "i", "memory", "Release Device failed", 0);
    assert_true(arg_text_is(twice, "fault", "double free") && arg_text_is(twice, "kind", "Device"));
    assert_true(arg_is(twice, "device", 0) && arg_is(twice, "result", 1) && !event_arg(twice, "bytes"));
    for (int i = 0; i < 2; i++)
        assert_true(arg_text_is(trace_event(&trace, "i", "memory", "Release Unknown", i), "fault", "unknown free"));
    assert_int_equal(trace_count(&trace, "i", "memory", "Release Device"), 3);
    assert_null(event_arg(trace_event(&trace, "i", "memory", "Release Device", 2), "fault"));
    assert_levels(&trace, "Memory in use: Device", (double[]){100, 0, 100, 0}, 4);
    trace_release(&trace);
}

UNIT_TEST(test_a_failed_allocation_tells_what_its_device_held)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    allocate(&spool, 1000, 0x1000, 100, SPOOL_MEMORY_DEVICE);
    allocate(&spool, 1100, 0x2000, 30, SPOOL_MEMORY_POOL);
    allocate(&spool, 1200, 0x3000, 7, SPOOL_MEMORY_PINNED);
    for (uint32_t device = 0; device < 3; device++)
        make_memory(&spool, (struct make_memory){.time = 2000 + device,
                                                 .size = 1 << 30,
                                                 .device = device < 2 ? device : SPOOL_NO_DEVICE,
                                                 .thread = THREAD,
                                                 .result = 2,
                                                 .kind = device < 2 ? SPOOL_MEMORY_DEVICE : SPOOL_MEMORY_PINNED,
                                                 .operation = SPOOL_MEMORY_ALLOCATE});
    struct trace trace = trace_of_done(&spool);
    const cJSON *failed = trace_event(&trace, "i", "memory", "Allocate Device failed", 0);
    assert_true(arg_is(failed, "bytes", 1 << 30) && arg_is(failed, "held", 130));
    assert_true(arg_text_is(failed, "held by kind", "Device 100, Pool 30"));
    failed = trace_event(&trace, "i", "memory", "Allocate Device failed", 1);
    assert_true(arg_is(failed, "held", 0) && !event_arg(failed, "held by kind"));
    failed = trace_event(&trace, "i", "memory", "Allocate Pinned failed", 0);
    assert_true(arg_is(failed, "held", 7) && arg_text_is(failed, "held by kind", "Pinned 7"));
    assert_null(event_arg(trace_event(&trace, "i", "memory", "Allocate Device", 0), "held"));
    trace_release(&trace);
}

/* --- call stacks --- */

static void allocate_from(struct make_spool *spool, uint64_t time, uint64_t address, uint32_t stack, int32_t result)
{
    make_memory(spool, (struct make_memory){.time = time,
                                            .address = address,
                                            .size = 8,
                                            .kind = SPOOL_MEMORY_DEVICE,
                                            .thread = THREAD,
                                            .result = result,
                                            .stack = stack,
                                            .operation = SPOOL_MEMORY_ALLOCATE});
}

static const cJSON *own(const struct trace *trace, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(trace->json, "gputrace"), key);
}

static const cJSON *stack_frames_of(const struct trace *trace)
{
    return cJSON_GetObjectItemCaseSensitive(trace->json, "stackFrames");
}

static const cJSON *frame_of(const struct trace *trace, int number)
{
    char key[16];
    snprintf(key, sizeof(key), "%d", number);
    return cJSON_GetObjectItemCaseSensitive(stack_frames_of(trace), key);
}

/* Names of the frames of stack NUMBER, innermost first, with a blank after each. */
static const char *stack_words(const struct trace *trace, int number)
{
    static char words[2048];
    *words = '\0';
    for (const cJSON *frame = frame_of(trace, number); frame;) {
        const cJSON *parent = cJSON_GetObjectItemCaseSensitive(frame, "parent");
        strcat(strcat(words, event_text(frame, "name")), " ");
        frame = parent ? frame_of(trace, parent->valueint) : NULL;
    }
    return words;
}

/* The stack that an event refers to, by both keys. */
static int stack_of(const cJSON *event)
{
    int number = (int)event_number(event, "sf");
    assert_true(arg_is(event, "stack", number));
    return number;
}

static void make_stacks(struct make_spool *spool)
{
    static const uint64_t first[] = {0x1000, 0x3000}, second[] = {0x2000, 0x3000}, third[] = {0x3000};
    make_mapping(spool, "00001000-00004000 r-xp 00000000 08:01 5 /bin/app");
    make_stack(spool, 1, first, 2);
    make_stack(spool, 2, second, 2);
    make_stack(spool, 3, third, 1);
}

UNIT_TEST(test_stacks_of_allocations_are_reported_once_and_their_frames_too)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_stacks(&spool); /* nothing refers to the third */
    allocate_from(&spool, 1000, 0x10, 2, 0);
    allocate_from(&spool, 2000, 0x20, 1, 0);
    allocate_from(&spool, 3000, 0x30, 1, 2);
    allocate_from(&spool, 4000, 0x40, 0, 0);
    allocate_from(&spool, 5000, 0x50, 9, 0); /* whose record was lost */
    struct trace trace = trace_of_done(&spool);
    int second = stack_of(trace_event(&trace, "i", "memory", "Allocate Device", 0)),
        first = stack_of(trace_event(&trace, "i", "memory", "Allocate Device", 1));
    assert_int_equal(stack_of(trace_event(&trace, "i", "memory", "Allocate Device failed", 0)), first);
    for (int i = 3; i < 5; i++)
        assert_null(event_arg(trace_event(&trace, "i", "memory", "Allocate Device", i), "stack"));
    assert_int_equal(cJSON_GetArraySize(stack_frames_of(&trace)), 3);
    assert_string_equal(stack_words(&trace, first), "0x1000 0x3000 ");
    assert_string_equal(stack_words(&trace, second), "0x2000 0x3000 ");
    assert_int_equal(event_number(own(&trace, "losses"), "left_out_stacks"), 1);
    trace_release(&trace);
}

static int name_first(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                      struct stack_frame *frames)
{
    (void)data, (void)count;
    assert_string_equal(maps->text, "00001000-00004000 r-xp 00000000 08:01 5 /bin/app\n");
    frames[0].function = addresses[0] == 0x1000 ? "keep" : "ask";
    frames[0].file = "/src/app.cu";
    frames[0].line = 7;
    return 0;
}

UNIT_TEST(test_frames_are_named)
{
    struct make_spool spool;
    struct frame_namer namer = {.name = name_first};
    make_spool_begin(&spool, PID, THREAD);
    make_stacks(&spool);
    allocate_from(&spool, 1000, 0x10, 1, 0);
    allocate_from(&spool, 2000, 0x20, 3, 0); /* 0x3000 as the place of a call, not as one that a call comes back to */
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of_named(&spool, &namer);
    assert_int_equal(cJSON_GetArraySize(stack_frames_of(&trace)), 3);
    int keep = stack_of(trace_event(&trace, "i", "memory", "Allocate Device", 0));
    assert_string_equal(stack_words(&trace, keep), "keep 0x3000 ");
    assert_string_equal(event_text(frame_of(&trace, keep), "file"), "/src/app.cu");
    assert_int_equal(event_number(frame_of(&trace, keep), "line"), 7);
    assert_true(arg_text_is(trace_event(&trace, "i", "memory", "Allocate Device", 0), "called at", "keep (app.cu:7)"));
    assert_string_equal(stack_words(&trace, stack_of(trace_event(&trace, "i", "memory", "Allocate Device", 1))),
                        "ask ");
    trace_release(&trace);
}

/* Two processes, or two images of one, number their stacks alike. */
UNIT_TEST(test_stacks_of_several_processes_share_frames_that_are_called_the_same)
{
    const char *directory = unit_directory();
    for (uint32_t pid = PID; pid < PID + 2; pid++) {
        struct make_spool spool;
        make_spool_init(&spool, pid, 130001);
        make_spool_chunk(&spool, SPOOL_RECORDS, pid);
        make_stacks(&spool);
        allocate_from(&spool, 1000, 0x10, 1, 0);
        make_spool_done(&spool, SPOOL_DONE);
        make_spool_save(&spool, directory);
        make_spool_release(&spool);
    }
    struct trace trace = trace_convert(directory);
    assert_int_equal(cJSON_GetArraySize(stack_frames_of(&trace)), 2); /* what is called the same is one */
    for (int i = 0; i < 2; i++)
        assert_string_equal(stack_words(&trace, stack_of(trace_event(&trace, "i", "memory", "Allocate Device", i))),
                            i == 0 ? "0x1000 0x3000 " : "0x1000 0x3000 ");
    trace_release(&trace);
    unit_remove(directory);
}

enum { STACKS = 4000, FRAMES = 64 };

/* More than metadata can hold, with an allocation each. */
static void make_many_stacks(struct make_spool *spool)
{
    make_spool_begin(spool, PID, THREAD);
    for (uint32_t stack = 1; stack <= STACKS; stack++) {
        uint64_t addresses[FRAMES];
        for (uint64_t i = 0; i < FRAMES; i++)
            addresses[i] = UINT64_C(0x7f0000000000) + stack * FRAMES + i;
        make_stack(spool, stack, addresses, FRAMES);
        allocate_from(spool, 1000 + stack, stack, stack, 0);
    }
}

static size_t frames_of_allocation(const struct trace *trace, int number)
{
    const char *words = stack_words(trace, stack_of(trace_event(trace, "i", "memory", "Allocate Device", number)));
    size_t count = 0;
    for (; *words; words++)
        count += *words == ' ';
    return count;
}

UNIT_TEST(test_where_stacks_are_cut_those_of_more_events_stay_whole)
{
    struct make_spool spool;
    make_many_stacks(&spool);
    allocate_from(&spool, 9000, 2 * STACKS, STACKS, 0); /* the last stack again */
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(frames_of_allocation(&trace, STACKS - 2), 1);
    assert_int_equal(frames_of_allocation(&trace, STACKS - 1), FRAMES);
    assert_int_equal(frames_of_allocation(&trace, STACKS), FRAMES);
    trace_release(&trace);
}

/* A reader of traces holds the metadata whole, so it may not grow for ever. */
UNIT_TEST(test_more_stacks_than_metadata_can_hold_are_cut_and_counted)
{
    struct make_spool spool;
    make_many_stacks(&spool);
    struct trace trace = trace_of_done(&spool);
    int cut = (int)event_number(own(&trace, "losses"), "cut_stacks"), whole = STACKS - cut;
    assert_true(whole > 1000 && whole < STACKS);
    assert_int_equal(trace.summary.losses.cut_stacks, cut);
    assert_int_equal(trace.summary.losses.left_out_stacks, 0);
    assert_int_equal(cJSON_GetArraySize(stack_frames_of(&trace)), whole * FRAMES + cut);
    assert_true(arg_is(trace_event(&trace, "i", "memory", "Allocate Device", whole - 1), "stack", whole * FRAMES));
    assert_true(arg_is(trace_event(&trace, "i", "memory", "Allocate Device", whole), "stack", whole * FRAMES + 1));
    char innermost[32];
    snprintf(innermost, sizeof(innermost), "0x%llx ", 0x7f0000000000 + (unsigned long long)(whole + 1) * FRAMES);
    assert_string_equal(stack_words(&trace, whole * FRAMES + 1), innermost); /* no function is the program's own */
    trace_release(&trace);
}

UNIT_TEST(test_what_is_outside_the_recording_needs_no_stack)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_stacks(&spool);
    make_capture(&spool, 500, 0, "stop");
    allocate_from(&spool, 1000, 0x10, 1, 0);
    make_capture(&spool, 1500, 1, "start");
    allocate_from(&spool, 2000, 0x20, 2, 0);
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(cJSON_GetArraySize(stack_frames_of(&trace)), 2);
    assert_string_equal(stack_words(&trace, 2), "0x2000 0x3000 ");
    trace_release(&trace);
}

/* --- pools --- */

UNIT_TEST(test_pools_have_counters_of_their_device)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_pool_level(&spool, (struct make_pool_level){.time = 3000, .pool = 0xb, .reserved = 64, .used = 1});
    make_pool_level(&spool, (struct make_pool_level){.time = 1000, .pool = 0xa, .reserved = 32, .used = 10});
    make_pool_level(&spool, (struct make_pool_level){.time = 4000, .pool = 0xa, .reserved = 32, .used = 5});
    make_pool_level(&spool, (struct make_pool_level){.time = 5000, .pool = 0xc, .reserved = 8, .used = 8, .device = 1});
    make_pool_level(&spool, (struct make_pool_level){.time = 6000, .pool = 0xb}); /* is gone */
    struct trace trace = trace_of_done(&spool);
    static const struct {
        long time;
        double bytes;
        int pid;
    } reserved[] = {{1000, 32, 0}, {3000, 96, 0}, {5000, 8, 1}, {6000, 32, 0}},
      used[] = {{1000, 10, 0}, {3000, 11, 0}, {4000, 6, 0}, {5000, 8, 1}, {6000, 5, 0}};
    assert_int_equal(trace_count(&trace, "C", NULL, "Pool reserved"), 4);
    assert_int_equal(trace_count(&trace, "C", NULL, "Pool used"), 5);
    for (int i = 0; i < 5; i++) {
        const cJSON *event = trace_event(&trace, "C", NULL, "Pool used", i);
        assert_true(event_ns(event, "ts") == used[i].time && arg_is(event, "bytes", used[i].bytes));
        assert_int_equal(event_number(event, "pid"), used[i].pid);
        if (i == 4)
            break;
        event = trace_event(&trace, "C", NULL, "Pool reserved", i);
        assert_true(event_ns(event, "ts") == reserved[i].time && arg_is(event, "bytes", reserved[i].bytes));
        assert_int_equal(event_number(event, "pid"), reserved[i].pid);
    }
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

static void assert_pool(const cJSON *pools, int index, const char *handle, double device, double reserved, double used)
{
    const cJSON *pool = cJSON_GetArrayItem(pools, index);
    assert_non_null(pool);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(pool, "pool")), handle);
    assert_true(event_number(pool, "device") == device);
    assert_true(event_number(pool, "reserved_peak") == reserved && event_number(pool, "used_peak") == used);
}

UNIT_TEST(test_the_most_of_each_pool_is_reported)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_pool_level(&spool,
                    (struct make_pool_level){
                        .time = 1000, .pool = 0xa, .reserved = 32, .used = 0, .reserved_high = 64, .used_high = 50});
    make_pool_level(&spool, (struct make_pool_level){.time = 2000, .pool = 0xb, .reserved = 8, .used = 7, .device = 1});
    /* reset by the program; and a handle that was given out again, on another device */
    make_pool_level(&spool, (struct make_pool_level){.time = 3000, .pool = 0xa, .reserved = 32, .used = 1});
    make_pool_level(&spool, (struct make_pool_level){.time = 4000, .pool = 0xb, .reserved = 4, .used = 4});
    struct trace trace = trace_of_done(&spool);
    const cJSON *process =
        cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(trace.json, "gputrace"), "processes"), 0);
    const cJSON *pools = cJSON_GetObjectItem(process, "pools");
    assert_int_equal(cJSON_GetArraySize(pools), 3);
    assert_pool(pools, 0, "0xa", 0, 64, 50);
    assert_pool(pools, 1, "0xb", 1, 8, 7);
    assert_pool(pools, 2, "0xb", 0, 4, 4);
    trace_release(&trace);
}

UNIT_TEST(test_pools_outside_the_recording_are_shown_with_what_they_hold_within)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_capture(&spool, 500, 0, "stop");
    make_pool_level(&spool, (struct make_pool_level){.time = 1000, .pool = 0xa, .reserved = 32, .used = 10});
    make_capture(&spool, 1500, 1, "start");
    make_pool_level(&spool, (struct make_pool_level){.time = 2000, .pool = 0xa, .reserved = 32, .used = 20});
    struct trace trace = trace_of_done(&spool);
    assert_levels(&trace, "Pool reserved", (double[]){32}, 1);
    assert_levels(&trace, "Pool used", (double[]){20}, 1);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
