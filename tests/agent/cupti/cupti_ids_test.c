/* What threads remember of CUPTI's numbers, and when they forget it. */
#include "agent/cupti/cupti_library.h"

#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

static struct cupti_ids mine;
static struct gputrace_call call;

UNIT_FIXTURE(start)
{
    cupti_ids_init(&fake_cupti);
    mine = (struct cupti_ids){0};
    fake_asked.contexts = fake_asked.streams = 0;
    return 0;
}

static uint32_t id_of(uintptr_t stream)
{
    return cupti_ids_of_stream(&mine, &call, (const struct CUstream_st *)stream);
}

UNIT_TEST_WITH(a_context_is_asked_for_until_it_is_another, start, NULL)
{
    for (unsigned i = 0; i < 3; i++)
        cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    assert_int_equal(fake_asked.contexts, 1);
    assert_int_equal(call.context_id, FAKE_CONTEXT_ID);
    assert_int_equal(call.device, FAKE_DEVICE);
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 2, &call); /* another one at the same address */
    assert_int_equal(fake_asked.contexts, 2);
    cupti_ids_of_call(&mine, NULL, 0, &call);
    assert_int_equal(fake_asked.contexts, 2);
    assert_int_equal(call.context_id, 0);
    assert_int_equal(call.device, GPUTRACE_NO_DEVICE);
    for (unsigned i = 0; i < 2; i++)
        cupti_ids_of_call(&mine, FAKE_CONTEXT, 0, &call); /* which of those at the address is not known */
    assert_int_equal(fake_asked.contexts, 4);
}

UNIT_TEST_WITH(a_stream_is_asked_for_once, start, NULL)
{
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(id_of(0x9940), 0x40);
        assert_int_equal(id_of(0), 7);
        assert_int_equal(id_of(2), 8);
    }
    assert_int_equal(fake_asked.streams, 3);
}

UNIT_TEST_WITH(streams_that_go_are_forgotten_by_all_threads, start, NULL)
{
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    struct cupti_ids others = mine;
    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(id_of(0x9940), 0x40);
            assert_int_equal(cupti_ids_of_stream(&others, &call, (const struct CUstream_st *)0x9940), 0x40);
        }
        assert_int_equal(fake_asked.streams, 2 * round);
        cupti_ids_forget_streams();
    }
}

UNIT_TEST_WITH(another_context_has_streams_of_its_own, start, NULL)
{
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    id_of(0);
    cupti_ids_of_call(&mine, (CUcontext)0x1022, 2, &call);
    id_of(0);
    assert_int_equal(fake_asked.streams, 2);
    struct gputrace_call before = {.context = FAKE_CONTEXT}; /* in which a client called, in another context */
    for (unsigned i = 0; i < 2; i++)
        cupti_ids_of_stream(&mine, &before, NULL);
    assert_int_equal(fake_asked.streams, 4);
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 0, &call);
    for (unsigned i = 0; i < 2; i++)
        id_of(0);
    assert_int_equal(fake_asked.streams, 6);
}

UNIT_TEST_WITH(more_streams_than_are_remembered_are_still_right, start, NULL)
{
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    for (unsigned i = 0; i < 10 * CUPTI_IDS_STREAMS; i++)
        for (uintptr_t stream = 0x5500; stream < 0x5600; stream += 0x10)
            assert_int_equal(id_of(stream), stream & 0xff);
}

static CUptiResult refuse(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context, (void)stream, (void)per_thread, (void)id;
    return CUPTI_ERROR_INVALID_PARAMETER;
}

UNIT_TEST_WITH(a_failure_is_not_remembered, start, NULL)
{
    struct cupti failing = fake_cupti;
    failing.cuptiGetStreamIdEx = refuse;
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    cupti_ids_init(&failing);
    assert_int_equal(id_of(0x9940), GPUTRACE_NO_STREAM);
    failing.cuptiGetStreamIdEx = fake_cupti.cuptiGetStreamIdEx;
    assert_int_equal(id_of(0x9940), 0x40);
}

UNIT_TEST_WITH(a_forked_child_asks_nobody_and_knows_nothing, start, NULL)
{
    cupti_ids_of_call(&mine, FAKE_CONTEXT, 1, &call);
    id_of(0x9940);
    cupti_ids_atfork_child();
    assert_int_equal(id_of(0x9940), GPUTRACE_NO_STREAM);
    assert_int_equal(fake_asked.streams, 1);
}

UNIT_MAIN(NULL, NULL)
