/*
 * What the tests of hazards share: two streams that do not synchronise with the default stream, two buffers of the
 * device's memory and a pinned one, and calls with the fields that matter. Each call has a stack of its own: 1, 2 …
 */
#ifndef TESTS_SAMPLES_PLUGINS_HAZARDS_CALLS_H
#define TESTS_SAMPLES_PLUGINS_HAZARDS_CALLS_H

#include "tests/unit.h"

#include "samples/plugins/hazards.h"
#include "tests/samples/plugins/fake_host.h"

#define BUFFER UINT64_C(0x7f0000000000)
#define OTHER UINT64_C(0x7f0000100000)
#define PINNED UINT64_C(0x7e0000000000)
enum { SIZE = 4096 };

__attribute__((unused)) static struct CUstream_st *const stream_a = (struct CUstream_st *)0x5010;
__attribute__((unused)) static struct CUstream_st *const stream_b = (struct CUstream_st *)0x5020;
__attribute__((unused)) static struct CUevent_st *const event = (struct CUevent_st *)0x6010;
__attribute__((unused)) static struct CUgraphExec_st *const graph = (struct CUgraphExec_st *)0x6110;
static bool driver_knows; /* what the driver answers */

__attribute__((unused)) static bool nothing_at(uint64_t address)
{
    (void)address;
    return !driver_knows;
}

__attribute__((unused)) static void allocate(uint64_t address, uint32_t kind)
{
    FAKE(memory_allocation, .address = address, .bytes = SIZE, .kind = kind, .stream_id = GPUTRACE_NO_STREAM);
}

__attribute__((unused)) static void create_stream(struct CUstream_st *stream, uint32_t id, uint32_t flags)
{
    FAKE(stream_creation, .stream = stream, .stream_id = id, .flags = flags);
}

__attribute__((unused)) UNIT_FIXTURE(each)
{
    hazards_nothing_at = nothing_at;
    driver_knows = false;
    hazards_hold = 0;
    fake.stack = 0;
    assert_int_equal(fake_start("top=100"), 0);
    FAKE(process_fork, .parent = 1);
    create_stream(stream_a, 13, 1);
    create_stream(stream_b, 14, 1);
    FAKE(event_creation, .event = event);
    allocate(BUFFER, GPUTRACE_MEMORY_DEVICE);
    allocate(OTHER, GPUTRACE_MEMORY_DEVICE);
    allocate(PINNED, GPUTRACE_MEMORY_PINNED);
    return 0;
}

__attribute__((unused)) static void set_bytes(uint64_t address, uint64_t bytes, struct CUstream_st *stream)
{
    fake.stack++;
    FAKE(memset, .address = address, .bytes = bytes, .width = bytes, .height = 1, .stream = stream, .stream_given = 1);
}

__attribute__((unused)) static void set(uint64_t address, struct CUstream_st *stream)
{
    set_bytes(address, SIZE, stream);
}

__attribute__((unused)) static void copy(uint64_t target, char target_side, uint64_t source, char source_side,
                                         struct CUstream_st *stream, uint32_t given)
{
    fake.stack++;
    FAKE(memcpy, .target = {.address = target}, .source = {.address = source}, .bytes = SIZE, .width = SIZE,
         .height = 1, .depth = 1, .stream = stream, .stream_given = given, .target_side = target_side,
         .source_side = source_side, .count = 1);
}

__attribute__((unused)) static void free_async(uint64_t address, struct CUstream_st *stream)
{
    fake.stack++;
    FAKE(memory_deallocation, .address = address, .stream = stream, .stream_id = 13, .kind = GPUTRACE_MEMORY_UNKNOWN);
}

__attribute__((unused)) static void free_now(uint64_t address, uint32_t kind)
{
    fake.stack++;
    FAKE(memory_deallocation, .address = address, .stream_id = GPUTRACE_NO_STREAM, .kind = kind);
}

__attribute__((unused)) static void allocate_async(uint64_t address, struct CUstream_st *stream)
{
    fake.stack++;
    FAKE(memory_allocation, .address = address, .bytes = SIZE, .kind = GPUTRACE_MEMORY_POOL, .stream = stream,
         .stream_id = 13);
}

__attribute__((unused)) static void end(void)
{
    fake_process_end(&(struct gputrace_process_end){.call = fake_call(NULL)});
}

__attribute__((unused)) static void assert_silent(void)
{
    if (fake.line_count)
        fake_show();
    assert_int_equal(fake.line_count, 0);
}

__attribute__((unused)) static void assert_reported(const char *text)
{
    if (fake_find(text))
        return;
    fake_show();
    fail_msg("nothing was reported of '%s'", text);
}

#endif
