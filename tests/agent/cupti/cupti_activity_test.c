/*
 * Buffers that hold API calls alone go back empty, if they were filled while nothing was recorded.
 */
#include "agent/cupti/activity_buffers.h"

#include <pthread.h>
#include <stdatomic.h>

#include "agent/cupti/cupti_library.h"
#include "tests/unit.h"

#define CALL_BYTES sizeof(CUpti_ActivityAPI)
#define KERNEL_BYTES sizeof(CUpti_ActivityKernel10)

static struct spool_header header;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;

/* --- the store: one buffer for each thread --- */

#define BUFFER_BYTES 4096

static __thread struct {
    _Alignas(64) uint8_t bytes[BUFFER_BYTES];
    size_t used;
    unsigned done;
} space;

static struct spool_header *get_header(void)
{
    return &header;
}

static void *take(size_t *bytes)
{
    *bytes = BUFFER_BYTES;
    return space.bytes;
}

static void done(void *bytes, size_t used)
{
    assert_ptr_equal(bytes, space.bytes);
    space.used = used;
    space.done++;
}

static const struct activity_store store = {get_header, take, done};

/* --- CUPTI --- */

static CUptiResult take_functions(CUpti_BuffersCallbackRequestFunc requests,
                                  CUpti_BuffersCallbackCompleteFunc completes)
{
    request = requests;
    complete = completes;
    return CUPTI_SUCCESS;
}

static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *at = buffer;
    if (*record)
        at = (uint8_t *)*record + ((*record)->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CALL_BYTES : KERNEL_BYTES);
    if (at >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)at;
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

static CUptiResult switch_kind(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

static CUptiResult count_dropped(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = 0;
    return CUPTI_SUCCESS;
}

static const struct cupti cupti = {
    .cuptiActivityRegisterCallbacks = take_functions,
    .cuptiActivityGetNextRecord = next_record,
    .cuptiActivitySetAttribute = set_attribute,
    .cuptiSetThreadIdType = set_thread_ids,
    .cuptiActivityEnable = switch_kind,
    .cuptiActivityDisable = switch_kind,
    .cuptiActivityGetNumDroppedRecords = count_dropped,
    .version = CUPTI_API_VERSION,
};

UNIT_FIXTURE(start)
{
    char why[256];
    (void)state;
    activity_buffers_atfork_child();
    return activity_buffers_init(&cupti, &store, 0, why, sizeof(why));
}

/* --- buffers --- */

static void request_buffer(void)
{
    uint8_t *buffer = NULL;
    size_t size = 0, records = 1;
    request(&buffer, &size, &records);
    assert_ptr_equal(buffer, space.bytes);
    assert_int_equal(size, BUFFER_BYTES);
}

/* CALLS of the runtime, and then KERNELS. Returns how many bytes of them the store got back. */
static size_t complete_buffer(unsigned calls, unsigned kernels)
{
    uint8_t *at = space.bytes;
    for (unsigned i = 0; i < calls; i++, at += CALL_BYTES)
        *(CUpti_ActivityAPI *)at = (CUpti_ActivityAPI){.kind = CUPTI_ACTIVITY_KIND_RUNTIME, .start = 1, .end = 2};
    for (unsigned i = 0; i < kernels; i++, at += KERNEL_BYTES)
        *(CUpti_ActivityKernel10 *)at = (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
    complete(NULL, 0, space.bytes, BUFFER_BYTES, (size_t)(at - space.bytes));
    return space.used;
}

static bool is_blank(void)
{
    for (size_t i = 0; i < BUFFER_BYTES; i++)
        if (space.bytes[i] != 0)
            return false;
    return true;
}

static void blank(void)
{
    memset(space.bytes, 0, BUFFER_BYTES);
}

/* --- tests --- */

UNIT_TEST_WITH(calls_alone_go_back_empty_while_nothing_is_recorded, start, NULL)
{
    blank();
    request_buffer();
    assert_int_equal(complete_buffer(10, 0), 0);
    assert_true(is_blank()); /* as CUPTI and the spool expect space that nobody used */
    request_buffer();
    assert_int_equal(complete_buffer(0, 0), 0);
    assert_int_equal(space.done, 2);
}

UNIT_TEST_WITH(other_records_are_kept_with_the_calls_beside_them, start, NULL)
{
    request_buffer();
    assert_int_equal(complete_buffer(10, 1), 10 * CALL_BYTES + KERNEL_BYTES);
    blank();
}

UNIT_TEST_WITH(calls_are_kept_while_recording_is_on, start, NULL)
{
    activity_buffers_keep(true);
    request_buffer();
    assert_int_equal(complete_buffer(10, 0), 10 * CALL_BYTES);
    blank();
}

UNIT_TEST_WITH(a_buffer_in_use_when_recording_begins_or_ends_is_kept, start, NULL)
{
    request_buffer();
    activity_buffers_keep(true);
    assert_int_equal(complete_buffer(10, 0), 10 * CALL_BYTES);
    blank();
    request_buffer();
    activity_buffers_keep(false);
    assert_int_equal(complete_buffer(10, 0), 10 * CALL_BYTES);
    blank();
    request_buffer(); /* the next one is not */
    assert_int_equal(complete_buffer(10, 0), 0);
}

UNIT_TEST_WITH(a_forked_child_begins_without_keeping, start, NULL)
{
    char why[256];
    (void)state;
    activity_buffers_keep(true);
    activity_buffers_atfork_child();
    assert_int_equal(activity_buffers_init(&cupti, &store, 0, why, sizeof(why)), 0);
    request_buffer();
    assert_int_equal(complete_buffer(10, 0), 0);
}

/* --- several threads --- */

static atomic_bool stop;

static void *fill_buffers(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        request_buffer();
        size_t used = complete_buffer(10, 0);
        if (used == 0)
            assert_true(is_blank());
        else
            assert_int_equal(used, 10 * CALL_BYTES);
        blank();
    }
    return NULL;
}

UNIT_TEST_WITH(recording_goes_on_and_off_while_buffers_come_and_go, start, NULL)
{
    pthread_t threads[3];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_buffers, NULL), 0);
    for (unsigned i = 0; i < 20000; i++)
        activity_buffers_keep(i & 1);
    atomic_store(&stop, true);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

UNIT_MAIN(NULL, NULL)
