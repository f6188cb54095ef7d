#include "injected/record/recorder.h"

#include "injected/record/chunks.h"
#include "injected/record/writer.h"
#include "injected/registry/registry.h"
#include "tests/injected/spool_reading.h"
#include "wire/settings.h"

static char *directory;

static int open_spool(void **state)
{
    (void)state;
    directory = new_directory();
    return chunks_open(directory, TRACE_DEFAULT) | recorder_subscribe(TRACE_DEFAULT);
}

static int remove_spool(void **state)
{
    (void)state;
    remove_directory(directory);
    return 0;
}

static void mark(const char *message, uint32_t length)
{
    registry_nvtx_publish(&(struct nvtx_event){.what = SPOOL_NVTX_MARK, .time = 5, .message = {message, length}});
}

static void nvtx_is_written_only_while_recording(void **state)
{
    (void)state;
    mark("before", 6);
    recorder_switch(true, "start");
    mark("recorded", 8);
    recorder_switch(false, "stop");
    mark("after", 5);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NVTX_EVENT), 1);
    const struct spool_nvtx_event *event = find_record(&reading, SPOOL_RECORD_NVTX_EVENT, 0);
    assert_int_equal(event->length, 8);
    assert_memory_equal(event->text, "recorded", 8);
    assert_int_equal(event->head.flags, SPOOL_NVTX_MARK);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_CAPTURE), 2);
    const struct spool_capture *off = find_record(&reading, SPOOL_RECORD_CAPTURE, 1);
    assert_int_equal(off->head.flags, 0);
    assert_memory_equal(off->text, "stop", off->length);
}

static void memory_and_names_are_always_written(void **state)
{
    (void)state;
    recorder_switch(false, "stop");
    registry_memory_publish(&(struct memory_event){.time = 7,
                                                   .address = 0x1000,
                                                   .size = 64,
                                                   .operation = SPOOL_MEMORY_ALLOCATE,
                                                   .kind = SPOOL_MEMORY_PINNED,
                                                   .device = SPOOL_NO_DEVICE});
    static const char symbol[] = "_Z6kernelv";
    registry_pointer_name_publish(&(struct pointer_name_event){symbol, {symbol, sizeof(symbol) - 1}});
    struct reading reading = read_spool(directory, getpid());
    const struct spool_memory *memory = find_record(&reading, SPOOL_RECORD_MEMORY, 0);
    assert_non_null(memory);
    assert_int_equal(memory->head.time, 7);
    assert_int_equal(memory->size, 64);
    assert_int_equal(memory->kind, SPOOL_MEMORY_PINNED);
    assert_int_equal(memory->thread, gettid());
    const struct spool_pointer_name *name = find_record(&reading, SPOOL_RECORD_POINTER_NAME, 0);
    assert_non_null(name);
    assert_true(name->pointer == (uint64_t)(uintptr_t)symbol);
    assert_memory_equal(name->text, symbol, sizeof(symbol) - 1);
}

static void a_registered_message_is_written_as_its_number(void **state)
{
    (void)state;
    recorder_switch(true, "start");
    registry_nvtx_publish(
        &(struct nvtx_event){.what = SPOOL_NVTX_PUSH, .string = 9, .message = {"long registered text", 20}});
    struct reading reading = read_spool(directory, getpid());
    unsigned last = count_records(&reading, SPOOL_RECORD_NVTX_EVENT) - 1;
    const struct spool_nvtx_event *event = find_record(&reading, SPOOL_RECORD_NVTX_EVENT, last);
    assert_int_equal(event->string, 9);
    assert_int_equal(event->length, 0);
}

static void a_text_too_long_is_cut_and_counted(void **state)
{
    (void)state;
    static char text[WRITER_TEXT_MAX + 1000];
    memset(text, 'x', sizeof(text));
    recorder_switch(true, "start");
    mark(text, sizeof(text));
    mark(text, WRITER_TEXT_MAX);
    struct reading reading = read_spool(directory, getpid());
    assert_int_equal(header_of(&reading)->losses.cut_texts, 1);
    unsigned last = count_records(&reading, SPOOL_RECORD_NVTX_EVENT) - 1;
    const struct spool_nvtx_event *event = find_record(&reading, SPOOL_RECORD_NVTX_EVENT, last - 1);
    assert_int_equal(event->length, WRITER_TEXT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvtx_is_written_only_while_recording),
        cmocka_unit_test(memory_and_names_are_always_written),
        cmocka_unit_test(a_registered_message_is_written_as_its_number),
        cmocka_unit_test(a_text_too_long_is_cut_and_counted),
    };
    return cmocka_run_group_tests_name("record/recorder", tests, open_spool, remove_spool);
}
