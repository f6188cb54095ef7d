
#include "agent/dispatch/registry.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "common/settings.h"
#include "tests/agent/spool/test_spool.h"

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(TRACE_DEFAULT) | record_cuda_subscribe(TRACE_DEFAULT) | record_nvtx_subscribe();
}

static void mark(const char *message, uint32_t length)
{
    registry_nvtx_mark_publish(&(struct gputrace_nvtx){.call.end = 5, .message = {message, length}});
}

UNIT_TEST(nvtx_is_written_only_while_recording)
{
    mark("before", 6);
    recorder_switch(true, 3, "start");
    mark("recorded", 8);
    recorder_switch(false, 9, "stop");
    mark("after", 5);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NVTX_PLAIN), 1);
    const struct spool_nvtx_plain *event = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, 0);
    assert_int_equal(event->length, 8);
    assert_memory_equal(event->text, "recorded", 8);
    assert_int_equal(event->head.flags, SPOOL_NVTX_MARK);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_CAPTURE), 2);
    const struct spool_capture *off = find_record(&reading, SPOOL_RECORD_CAPTURE, 1);
    assert_int_equal(off->head.flags, 0);
    assert_int_equal(off->head.time, 9);
    assert_memory_equal(off->text, "stop", off->length);
}

UNIT_TEST(memory_and_names_are_always_written)
{
    recorder_switch(false, 9, "stop");
    registry_memory_allocation_publish(&(struct gputrace_memory_allocation){
        .call = {.end = 7, .device = GPUTRACE_NO_DEVICE, .thread = 77, .correlation = 5},
        .address = 0x1000,
        .bytes = 64,
        .kind = GPUTRACE_MEMORY_PINNED});
    static const char symbol[] = "_Z6kernelv";
    registry_pointer_name_publish(&(struct gputrace_pointer_name){symbol, {symbol, sizeof(symbol) - 1}, .since = 8});
    struct reading reading = read_spool(directory, getpid());
    const struct spool_memory *memory = find_record(&reading, SPOOL_RECORD_MEMORY, 0);
    assert_non_null(memory);
    assert_int_equal(memory->head.time, 7);
    assert_int_equal(memory->size, 64);
    assert_int_equal(memory->kind, SPOOL_MEMORY_PINNED);
    assert_int_equal(memory->thread, 77);
    assert_int_equal(memory->correlation, 5);
    assert_int_equal(memory->operation, SPOOL_MEMORY_ALLOCATE);
    const struct spool_pointer_name *name = find_record(&reading, SPOOL_RECORD_POINTER_NAME, 0);
    assert_non_null(name);
    assert_true(name->pointer == (uint64_t)(uintptr_t)symbol);
    assert_int_equal(name->head.time, 8);
    assert_memory_equal(name->text, symbol, sizeof(symbol) - 1);
}

UNIT_TEST(functions_and_what_nodes_launch_are_always_written)
{
    assert_int_equal(record_cuda_subscribe_graph_nodes(), 0);
    recorder_switch(false, 9, "stop");
    registry_function_name_publish(&(struct gputrace_function_name){(void *)0x5550, {"_Z6kernelv", 10}});
    registry_graph_node_publish(
        &(struct gputrace_graph_node){.correlation = 5, .node = 70, .original = 60, .function = (void *)0x5550});
    struct reading reading = read_spool(directory, getpid());
    const struct spool_function_name *name = find_record(&reading, SPOOL_RECORD_FUNCTION_NAME, 0);
    assert_int_equal(name->function, 0x5550);
    assert_int_equal(name->length, 10);
    assert_memory_equal(name->text, "_Z6kernelv", 10);
    const struct spool_graph_node *node = find_record(&reading, SPOOL_RECORD_GRAPH_NODE, 0);
    assert_int_equal(node->node, 70);
    assert_int_equal(node->original, 60);
    assert_int_equal(node->function, 0x5550);
    assert_int_equal(node->correlation, 5);
    assert_true(node->head.time > 0);
}

static void publish_allocation(uint64_t address)
{
    registry_memory_allocation_publish(&(struct gputrace_memory_allocation){
        .call = {.end = 9}, .address = address, .bytes = 8, .kind = GPUTRACE_MEMORY_DEVICE});
}

static const struct spool_memory *last_memory(const struct reading *reading)
{
    return find_record(reading, SPOOL_RECORD_MEMORY, count_records(reading, SPOOL_RECORD_MEMORY) - 1);
}

UNIT_TEST(allocations_and_failures_keep_their_stacks_when_that_is_wanted)
{
    publish_allocation(0x2000);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(last_memory(&reading)->stack, 0);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_STACK), 0);
    call_stacks_init(STACKS_ALLOC, 0, false);
    for (unsigned i = 0; i < 3; i++)
        publish_allocation(0x3000 + i);
    reading = read_spool(directory, getpid());
    uint32_t stack = last_memory(&reading)->stack;
    assert_true(stack > 0);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_STACK), 1);
    assert_int_equal(((const struct spool_stack *)find_record(&reading, SPOOL_RECORD_STACK, 0))->stack, stack);
    registry_memory_allocation_failure_publish(
        &(struct gputrace_memory_allocation_failure){.call = {.end = 9, .result = 2}, .bytes = 8});
    reading = read_spool(directory, getpid());
    assert_int_equal(last_memory(&reading)->result, 2);
    assert_int_equal(last_memory(&reading)->stack,
                     stack); /* all of the program that is seen here is what calls tests */
    registry_memory_deallocation_publish(&(struct gputrace_memory_deallocation){.call = {.end = 9}, .address = 0x3000});
    reading = read_spool(directory, getpid());
    assert_int_equal(last_memory(&reading)->stack, 0);
    call_stacks_init(0, 0, false);
}

UNIT_TEST(a_registered_message_is_written_as_its_number)
{
    recorder_switch(true, 3, "start");
    registry_nvtx_push_publish(&(struct gputrace_nvtx){.string = 9, .message = {"long registered text", 20}});
    struct reading reading = read_spool(directory, getpid());
    unsigned last = count_records(&reading, SPOOL_RECORD_NVTX_PLAIN) - 1;
    const struct spool_nvtx_plain *event = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, last);
    assert_int_equal(event->string, 9);
    assert_int_equal(event->length, 0);
}

UNIT_TEST(what_failed_is_written_as_failed)
{
    registry_memory_allocation_failure_publish(
        &(struct gputrace_memory_allocation_failure){.call = {.end = 8, .result = 2}, .bytes = 99});
    registry_memory_deallocation_publish(
        &(struct gputrace_memory_deallocation){.call = {.end = 9, .result = 1}, .address = 0x2000});
    registry_stream_creation_publish(&(struct gputrace_stream_creation){.call.result = 1});
    struct reading reading = read_spool(directory, getpid());
    unsigned last = count_records(&reading, SPOOL_RECORD_MEMORY) - 1;
    const struct spool_memory *failure = find_record(&reading, SPOOL_RECORD_MEMORY, last - 1);
    assert_int_equal(failure->operation, SPOOL_MEMORY_ALLOCATE);
    assert_int_equal(failure->result, 2);
    assert_int_equal(failure->size, 99);
    const struct spool_memory *release = find_record(&reading, SPOOL_RECORD_MEMORY, last);
    assert_int_equal(release->operation, SPOOL_MEMORY_RELEASE);
    assert_int_equal(release->result, 1);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_STREAM), 0); /* there is no such stream */
}

UNIT_TEST(a_phase_is_a_record_at_each_end)
{
    struct gputrace_call call = {.start = 10, .end = 30, .function = "cuLinkComplete", .thread = 4, .result = 200};
    registry_compilation_phase_start_publish(
        &(struct gputrace_compilation_phase_start){call, 3, GPUTRACE_TRIGGER_LINK, 1});
    registry_compilation_phase_end_publish(
        &(struct gputrace_compilation_phase_end){call, 3, GPUTRACE_TRIGGER_LINK, 0, GPUTRACE_ENDING_THREAD_ENDED});
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_PHASE), 2);
    const struct spool_phase *start = find_record(&reading, SPOOL_RECORD_PHASE, 0);
    const struct spool_phase *end = find_record(&reading, SPOOL_RECORD_PHASE, 1);
    assert_int_equal(start->head.flags, SPOOL_PHASE_STARTED);
    assert_int_equal(start->head.time, 10);
    assert_memory_equal(start->text, "cuLinkComplete", start->length);
    assert_int_equal(end->head.flags, SPOOL_PHASE_ENDED);
    assert_int_equal(end->head.time, 30);
    assert_int_equal(end->phase, 3);
    assert_int_equal(end->trigger, SPOOL_TRIGGER_LINK);
    assert_int_equal(end->thread, 4);
    assert_int_equal(end->result, 200);
    assert_int_equal(end->ending, GPUTRACE_ENDING_THREAD_ENDED);
}

UNIT_TEST(a_text_too_long_is_cut_and_counted)
{
    static char text[WRITER_TEXT_MAX + 1000];
    memset(text, 'x', sizeof(text));
    recorder_switch(true, 3, "start");
    mark(text, sizeof(text));
    mark(text, WRITER_TEXT_MAX);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(header_of(&reading)->losses.cut_texts, 1);
    unsigned last = count_records(&reading, SPOOL_RECORD_NVTX_PLAIN) - 1;
    const struct spool_nvtx_plain *event = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, last - 1);
    assert_int_equal(event->length, WRITER_TEXT_MAX);
}

UNIT_TEST(texts_that_begin_alike_stay_two_when_they_are_cut)
{
    static char text[WRITER_TEXT_MAX + 1000];
    memset(text, 'x', sizeof(text));
    memcpy(text + WRITER_TEXT_MAX - 33, "\xe2\x82\xac", 3); /* the cut is in a character of three bytes */
    recorder_switch(true, 3, "start");
    mark(text, sizeof(text));
    text[sizeof(text) - 1] = 'y';
    mark(text, sizeof(text));
    struct reading reading = read_spool(directory, getpid());
    unsigned last = count_records(&reading, SPOOL_RECORD_NVTX_PLAIN) - 1;
    const struct spool_nvtx_plain *first = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, last - 1);
    const struct spool_nvtx_plain *second = find_record(&reading, SPOOL_RECORD_NVTX_PLAIN, last);
    const char *end = first->text + WRITER_TEXT_MAX;
    assert_memory_equal(end - 34, "x.....[cut, hash ", 17);
    assert_int_equal(end[-1], ']');
    assert_memory_equal(first->text, second->text, WRITER_TEXT_MAX - 17);
    assert_memory_not_equal(end - 17, second->text + WRITER_TEXT_MAX - 17, 16);
}

/* A readable name needs the whole of it. */
UNIT_TEST(symbols_are_recorded_whole)
{
    static char symbol[100000];
    memset(symbol, 's', sizeof(symbol) - 1);
    struct reading before = read_spool(directory, getpid());
    uint64_t counted = header_of(&before)->losses.cut_texts;
    registry_pointer_name_publish(&(struct gputrace_pointer_name){.pointer = symbol, .text = text_of(symbol)});
    struct reading reading = read_spool(directory, getpid());
    unsigned last = count_records(&reading, SPOOL_RECORD_POINTER_NAME) - 1;
    const struct spool_pointer_name *name = find_record(&reading, SPOOL_RECORD_POINTER_NAME, last);
    assert_int_equal(name->length, sizeof(symbol) - 1);
    assert_int_equal(header_of(&reading)->losses.cut_texts, counted);
}

UNIT_MAIN(open_spool, remove_spool)
