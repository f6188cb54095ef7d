/* Device ranges: what is asked of CUDA for them, what goes to the spool, and what is refused. */
#include "tests/unit.h"

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/registry.h"
#include "agent/main/plugins.h"
#include "agent/ranges/device_ranges.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/settings.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/agent/main/made_plugin.h"
#include "tests/agent/ranges/fake_driver.h"

static char *spool;
static struct cupti cupti;
static bool events_on, syncs_on, times_on;

static void switch_kind(CUpti_ActivityKind kind, bool on)
{
    if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT)
        events_on = on;
    if (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
        syncs_on = on;
}

static CUptiResult enable_kind(CUpti_ActivityKind kind)
{
    switch_kind(kind, true);
    return CUPTI_SUCCESS;
}

static CUptiResult disable_kind(CUpti_ActivityKind kind)
{
    switch_kind(kind, false);
    return CUPTI_SUCCESS;
}

static CUptiResult enable_times(uint8_t on)
{
    times_on = on != 0;
    return CUPTI_SUCCESS;
}

static CUptiResult set_attribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    (void)attribute, (void)size, (void)value;
    return CUPTI_SUCCESS;
}

static CUptiResult set_thread_ids(CUpti_ActivityThreadIdType type)
{
    (void)type;
    return CUPTI_SUCCESS;
}

static CUptiResult take_buffer_functions(CUpti_BuffersCallbackRequestFunc request,
                                         CUpti_BuffersCallbackCompleteFunc complete)
{
    (void)request, (void)complete;
    return CUPTI_SUCCESS;
}

/* Recording is on, with kernels alone: nobody has asked for CUDA events. */
static void start_cupti(bool with_times)
{
    static const struct activity_store store = {.header = spool_file_header};
    char why[256];
    activity_buffers_atfork_child();
    cupti_callbacks_atfork_child();
    device_ranges_atfork_child();
    cupti = fake_cupti;
    cupti.cuptiActivityEnable = enable_kind;
    cupti.cuptiActivityDisable = disable_kind;
    cupti.cuptiActivitySetAttribute = set_attribute;
    cupti.cuptiSetThreadIdType = set_thread_ids;
    cupti.cuptiActivityRegisterCallbacks = take_buffer_functions;
    cupti.cuptiActivityEnableCudaEventDeviceTimestamps = with_times ? enable_times : NULL;
    assert_int_equal(cupti_callbacks_init(&cupti, why, sizeof(why)), 0);
    assert_int_equal(activity_buffers_init(&cupti, &store, TRACE_KERNEL, why, sizeof(why)), 0);
    times_on = events_on = syncs_on = false;
    activity_kinds_switch(TRACE_KERNEL, true, true);
}

UNIT_FIXTURE(prepare)
{
    spool = new_directory();
    if (chunks_open(spool, 0) != 0)
        return -1;
    return record_cuda_subscribe(0);
}

UNIT_FIXTURE(tidy)
{
    remove_directory(spool);
    return 0;
}

static void context_goes(CUcontext context)
{
    registry_context_deletion_publish(&(struct gputrace_context_deletion){.call = {.context = context}});
}

UNIT_FIXTURE(start)
{
    start_cupti(true);
    context_goes(FAKE_CONTEXT_A); /* with what the test before kept */
    context_goes(FAKE_CONTEXT_B);
    fake_driver_start(FAKE_CONTEXT_A);
    if (!recorder_is_on())
        recorder_switch(true, clock_now(), "test");
    return 0;
}

static unsigned count(enum spool_record_type type)
{
    struct reading reading = read_spool(spool, getpid());
    return count_records(&reading, type);
}

static const struct spool_device_range *last(void)
{
    return last_record(spool, SPOOL_RECORD_DEVICE_RANGE);
}

static const CUstream stream = (CUstream)0xa101, other = (CUstream)0xb102;

/* --- tests --- */

/* Before any range of others. */
UNIT_TEST_WITH(the_gpus_times_are_asked_for_when_the_first_range_starts, start, NULL)
{
    assert_false(times_on || events_on || syncs_on);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventRecord));
    device_range_start("one", stream);
    assert_true(times_on);
    assert_true(events_on && syncs_on); /* switched on late, the one tells nothing without the other */
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventRecord));
    assert_int_equal(fake_count_on(CUPTI_CB_DOMAIN_DRIVER_API), 1);
    activity_kinds_switch(TRACE_KERNEL, true, false); /* recording pauses */
    assert_false(events_on || syncs_on);
    activity_kinds_switch(TRACE_KERNEL, true, true);
    assert_true(events_on && syncs_on);
}

UNIT_TEST_WITH(a_range_is_two_events_with_their_correlation_ids, start, NULL)
{
    fake_correlation = 71;
    uint64_t range = device_range_start("forward", stream);
    assert_true(range > 0);
    assert_int_equal(fake_driver_asked.records, 1);
    const struct spool_device_range *record = last();
    assert_int_equal(record->head.flags, SPOOL_DEVICE_RANGE_START);
    assert_int_equal(record->range, range);
    assert_int_equal(record->correlation, 71);
    assert_text(record->text, record->length, "forward");
    fake_correlation = 72;
    device_range_end(range, stream);
    record = last();
    assert_int_equal(record->head.flags, SPOOL_DEVICE_RANGE_END);
    assert_int_equal(record->range, range);
    assert_int_equal(record->correlation, 72);
    assert_int_equal(record->length, 0);
    assert_true(device_range_start("next", stream) > range);
    assert_int_equal(fake_driver_asked.created, 1); /* the cache has it again */
    assert_int_equal(fake_driver_asked.wrong, 0);
    fake_correlation = 0;
}

UNIT_TEST_WITH(its_calls_are_reported_to_nobody_and_lie_in_a_window, start, NULL)
{
    unsigned windows = count(SPOOL_RECORD_PLUGIN_WINDOW);
    device_range_start("one", stream);
    assert_int_equal(count(SPOOL_RECORD_PLUGIN_WINDOW), windows + 1);
    const struct spool_plugin_window *window = last_record(spool, SPOOL_RECORD_PLUGIN_WINDOW);
    assert_int_equal(window->head.time, last()->head.time);
    assert_true(window->end >= window->head.time);
}

static unsigned heard;

static void hears(void *data, const struct gputrace_event_record *what)
{
    (void)data, (void)what;
    heard++;
}

UNIT_TEST_WITH(callbacks_hear_of_the_programs_events_alone, start, NULL)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    assert_true(gputrace_event_record_register(host, hears, NULL) > 0);
    heard = 0;
    device_range_end(device_range_start("one", stream), stream);
    assert_int_equal(heard, 0);
    cuEventRecord_params params = {(CUevent)0xe, stream};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventRecord, &params, CUDA_SUCCESS);
    assert_int_equal(heard, 1);
    gputrace_clear(host, GPUTRACE_EVERY_KIND);
}

UNIT_TEST_WITH(default_streams_are_of_the_current_context, start, NULL)
{
    for (uintptr_t i = 0; i < 3; i++)
        assert_true(device_range_start("default", (CUstream)i) > 0);
    fake_driver_enter(FAKE_CONTEXT_B);
    assert_true(device_range_start("default", NULL) > 0);
    assert_int_equal(fake_driver_asked.created, 2);
    assert_int_equal(fake_driver_asked.wrong, 0);
}

UNIT_TEST_WITH(a_stream_has_its_own_context_whatever_is_current, start, NULL)
{
    assert_true(device_range_start("there", other) > 0);
    fake_driver_enter(NULL);
    uint64_t range = device_range_start("none current", other);
    assert_true(range > 0);
    device_range_end(range, stream); /* ends in another device's stream */
    assert_int_equal(fake_driver_asked.wrong, 0);
    assert_null(fake_driver_current());
}

static void assert_refused(const char *words, CUstream where)
{
    unsigned ranges = count(SPOOL_RECORD_DEVICE_RANGE), records = fake_driver_asked.records;
    assert_int_equal(device_range_start("refused", where), 0);
    assert_int_equal(count(SPOOL_RECORD_DEVICE_RANGE), ranges);
    assert_int_equal(fake_driver_asked.records, records);
    const struct spool_note *note = last_record(spool, SPOOL_RECORD_NOTE);
    assert_int_equal(note->head.flags, SPOOL_NOTE_WARNING);
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)note->length, note->text);
    assert_contains(text, words);
}

UNIT_TEST_WITH(captured_streams_are_refused_and_reported_once, start, NULL)
{
    uint64_t range = device_range_start("before", stream);
    fake_driver_says.captured = stream;
    assert_refused("the start of a device range is not recorded: its stream, or one that it would wait for, is being "
                   "captured into a graph",
                   stream);
    unsigned notes = count(SPOOL_RECORD_NOTE), ranges = count(SPOOL_RECORD_DEVICE_RANGE);
    assert_int_equal(device_range_start("again", stream), 0);
    device_range_end(range, stream); /* not there either */
    assert_int_equal(count(SPOOL_RECORD_NOTE), notes);
    assert_int_equal(count(SPOOL_RECORD_DEVICE_RANGE), ranges);
    fake_driver_says.capture = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; /* the default stream would wait for it */
    assert_int_equal(device_range_start("implicit", NULL), 0);
    assert_int_equal(count(SPOOL_RECORD_DEVICE_RANGE), ranges);
}

UNIT_TEST_WITH(what_cuda_refuses_is_reported, start, NULL)
{
    fake_driver_enter(NULL);
    assert_refused("no CUDA context is current", NULL);
    fake_driver_says.create = CUDA_ERROR_OUT_OF_MEMORY;
    assert_refused("CUDA gives no event", stream);
    fake_driver_says.create = CUDA_SUCCESS;
    fake_driver_says.record = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(device_range_start("broken", stream), 0);
    const struct spool_note *note = last_record(spool, SPOOL_RECORD_NOTE);
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)note->length, note->text);
    assert_contains(text, "CUDA does not take an event");
}

UNIT_TEST_WITH(nothing_is_asked_of_cuda_while_recording_is_off, start, NULL)
{
    uint64_t range = device_range_start("on", stream);
    unsigned records = fake_driver_asked.records, captures = fake_driver_asked.captures;
    recorder_switch(false, clock_now(), "test");
    assert_int_equal(device_range_start("off", stream), 0);
    device_range_end(range, stream);
    device_range_end(0, stream);
    assert_int_equal(fake_driver_asked.records, records);
    assert_int_equal(fake_driver_asked.captures, captures);
}

UNIT_TEST_WITH(a_callback_has_no_ranges, start, NULL)
{
    epoch_reader()->in_client = true;
    assert_int_equal(device_range_start("callback", stream), 0);
    epoch_reader()->in_client = false;
    assert_int_equal(fake_driver_asked.captures, 0);
}

/* The reader counts them. */
UNIT_TEST_WITH(an_older_cupti_gives_ranges_without_times, start, NULL)
{
    start_cupti(false);
    uint64_t range = device_range_start("old", stream);
    assert_true(range > 0);
    assert_int_equal(last()->correlation, 0);
    assert_int_equal(fake_driver_asked.records, 0);
    device_range_end(range, stream);
    assert_int_equal(last()->head.flags, SPOOL_DEVICE_RANGE_END);
}

UNIT_TEST_WITH(without_cupti_or_cuda_there_are_none, start, NULL)
{
    driver_replace(NULL);
    assert_int_equal(device_range_start("no CUDA", stream), 0);
    driver_replace(&fake_driver);
    activity_buffers_atfork_child(); /* as in a forked child */
    device_ranges_atfork_child();
    assert_int_equal(device_range_start("no CUPTI", stream), 0);
    assert_int_equal(fake_driver_asked.captures, 0);
}

UNIT_TEST_WITH(plugins_and_the_program_take_events_from_the_cache, start, NULL)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    const struct gputrace_cached_event *event = gputrace_event_take(host, FAKE_CONTEXT_B, 1);
    assert_true(fake_event_timing(event->event));
    assert_ptr_equal(fake_event_context(event->event), FAKE_CONTEXT_B);
    CUevent made = event->event;
    gputrace_event_give_back(host, event);
    gputrace_event_give_back(host, NULL);
    event = gputrace_event_take(host, FAKE_CONTEXT_B, 1);
    assert_ptr_equal(event->event, made);
    struct gputrace_host older = *host; /* it ends before these functions */
    older.size = offsetof(struct gputrace_host, event_take);
    assert_null(gputrace_event_take(&older, NULL, 0));
    gputrace_event_give_back(&older, event);
    gputrace_event_give_back(host, event);
    event = gputrace_event_take(host, NULL, 0);
    assert_ptr_equal(fake_event_context(event->event), FAKE_CONTEXT_A);
    gputrace_event_give_back(host, event);
    assert_null(gputrace_event_take(NULL, NULL, 0));
}

UNIT_MAIN(prepare, tidy)
