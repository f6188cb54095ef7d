/*
 * The quick reading of events against the thorough one: whatever fast_path_event() takes, event_read_members() reads
 * alike of valid JSON.
 */
#include "tests/unit.h"

#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"

static const char *const usual[] = {
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k(float*, int)\",\"pid\":0,\"tid\":7,\"ts\":400002.000,\"dur\":2.500,"
    "\"args\":{\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":12,\"blocks per SM\":1.939394,"
    "\"grid\":[256,1,1],\"block\":[128,1,1],\"est. achieved occupancy %\":12}}",
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4242,\"tid\":4242,\"ts\":3.0,"
    "\"dur\":3.100,\"args\":{\"cbid\":211,\"correlation\":12,\"return value\":\"2\"}}",
    "{\n  \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::ü\", \"pid\": \"Spans\", \"tid\": -3,\n"
    "  \"ts\": 1790000000000000.5, \"dur\": 0,\n  \"args\": {\n    \"External id\": 5, \"x\": [{\"a\": null}, {}, [], "
    "true]\n}\n}",
    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"n\",\"pid\":0,\"tid\":7,\"ts\":1e3,\"dur\":1,"
    "\"args\":{\"from\":\"gputrace_device_range\",\"range\":3,\"from\":4}}",
    "{\"ph\":\"i\",\"cat\":\"memory\",\"name\":\"Allocate\",\"pid\":1,\"tid\":1,\"ts\":-5.0005,\"s\":\"t\","
    "\"args\":{\"address\":\"0x7f0000001000\",\"bytes\":1048576,\"kind\":\"device\",\"result\":true,\"stack\":null}}",
    "{\"ph\":\"b\",\"id\":\"0x1f\",\"cat\":\"user_annotation\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":10.12345}",
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4242,\"args\":{\"name\":\"app --fast\"}}",
    "{\"ph\":\"s\",\"id\":100000,\"pid\":4242,\"tid\":4242,\"ts\":399997.000,\"cat\":\"ac2g\",\"name\":\"ac2g\"}",
    "{\"ph\":\"f\",\"id\":4,\"pid\":583,\"tid\":624,\"ts\":4348656278244.241,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\","
    "\"bp\":\"e\"}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"TBackward0\",\"pid\":583,\"tid\":624,\"ts\":4348656278244.241,"
    "\"dur\":7.102,\"args\":{\"External id\":544,\"Record function id\":0,\"Sequence number\":31,\"Fwd thread id\":1,"
    "\"Ev Idx\":31}}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::cat\",\"pid\":583,\"tid\":624,\"ts\":5,\"dur\":7.102,"
    "\"args\":{\"Input type\":[\"TensorList\",\"\"],\"Input Dims\":[ [[8, 128],[-1]], [ ],[0]],\"Ev Idx\":31}}",
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4242,\"tid\":4242,\"ts\":3.0,"
    "\"dur\":3.100,\"args\":{\"cbid\":211,\"correlation\":12},\"bind_id\":12,\"flow_out\":true}",
    "{\"ph\":\"C\",\"name\":\"Memory in use: device\",\"pid\":0,\"ts\":5,\"args\":{\"bytes\":17}}",
};
#define USUAL_COUNT (sizeof(usual) / sizeof(*usual))

struct reading {
    struct interner strings;
    struct event_fields event;
};

static void release(struct reading *reading)
{
    interner_release(&reading->strings);
}

static const char *text_of(const struct reading *reading, uint32_t text)
{
    return text == EVENT_NO_TEXT ? "(none)" : interned(&reading->strings, text);
}

static void assert_same_id(const struct reading *a, event_id left, const struct reading *b, event_id right)
{
    assert_int_equal(event_id_is_text(left), event_id_is_text(right));
    if (event_id_is_text(left))
        assert_string_equal(text_of(a, (uint32_t)(left >> 1)), text_of(b, (uint32_t)(right >> 1)));
    else
        assert_int_equal(left, right);
}

static void assert_same_text(const struct reading *a, uint32_t *left, const struct reading *b, uint32_t *right)
{
    assert_string_equal(text_of(a, *left), text_of(b, *right));
    *left = *right = EVENT_NO_TEXT;
}

static void assert_same(const struct reading *a, const struct reading *b)
{
    struct event_fields left = a->event, right = b->event;
    assert_int_equal(left.category, right.category);
    assert_same_text(a, &left.name, b, &right.name);
    assert_same_text(a, &left.label, b, &right.label);
    for (size_t key = 0; key < ARG_KEY_COUNT; key++) {
        const struct arg_field *field = &arg_fields[key];
        bool is_text = field->type == FIELD_TEXT || field->type == FIELD_SHAPES;
        if (is_text && category_in(left.category, field->categories))
            assert_same_text(a, (uint32_t *)((char *)&left + field->offset), b,
                             (uint32_t *)((char *)&right + field->offset));
    }
    assert_same_id(a, left.process, b, right.process);
    assert_same_id(a, left.thread, b, right.thread);
    assert_same_id(a, left.id, b, right.id);
    left.process = left.thread = left.id = right.process = right.thread = right.id = 0;
    assert_memory_equal(&left, &right, event_size(&left)); /* padding is that of an event without fields */
}

/* Reads TEXT both ways; gives whether the quick one took it. */
static bool compare(const char *text, size_t size)
{
    struct reading quick = {0}, thorough = {0};
    struct json_fault fault;
    struct event_fault lacking;
    struct buffer plain;
    size_t length = 0;
    char *padded = calloc(1, size + FAST_PATH_PADDING);
    assert_non_null(padded);
    memcpy(padded, text, size);
    buffer_init_memory(&plain);
    enum parse_result result = fast_path_event(padded, padded + size, &quick.strings, &quick.event, &length);
    if (result != PARSE_CUT) {
        json_check(padded, size, &fault);
        assert_int_equal(fault.length, length);
        assert_int_equal(
            event_read_members(padded, padded + length, &thorough.strings, &plain, &thorough.event, &lacking), result);
    }
    if (result == PARSE_DONE)
        assert_same(&quick, &thorough);
    buffer_release(&plain);
    release(&quick);
    release(&thorough);
    free(padded);
    return result != PARSE_CUT;
}

UNIT_TEST(usual_events_are_taken)
{
    for (size_t i = 0; i < USUAL_COUNT; i++)
        assert_int_equal(compare(usual[i], strlen(usual[i])), strstr(usual[i], "1e3") == NULL);
}

UNIT_TEST(arguments_of_unusual_forms_are_taken)
{
    static const char *const unusual[] = {
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":12345678901234567890}"
        "}",
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":1.5}}",
        "{\"ph\":\"X\",\"cat\":\"memory\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"kind\":7}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":[\"a\"]}}",
    };
    for (size_t i = 0; i < sizeof(unusual) / sizeof(*unusual); i++)
        assert_true(compare(unusual[i], strlen(unusual[i])));
}

UNIT_TEST(an_event_that_is_cut_is_not_taken)
{
    for (size_t i = 0; i < USUAL_COUNT; i++)
        for (size_t size = 0; size < strlen(usual[i]); size++)
            assert_false(compare(usual[i], size));
}

UNIT_TEST(what_is_doubtful_is_left_to_the_thorough_reading)
{
    static const char *const doubtful[] = {
        "{\"ph\":\"X\",\"name\":\"a\\u0041\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1}",
        "{\"ph\":\"X\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1.2.3}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":99999999999999999,\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":[[1],]}}",
        "{\"ph\":\"XX\",\"name\":\"a\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":01,\"dur\":1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":00.5}",
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":-01}}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"x\":01}}",
        "{\"ph\":\"X\",\"name\":\"a\n\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\"\f,\"name\":\"a\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":1},\"cat\":\"kernel\"}",
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"args\":{\"Bytes\":1}}",
        "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#3\",\"ts\":1,\"dur\":1}",
        "{}",
        "[]",
        "",
    };
    for (size_t i = 0; i < sizeof(doubtful) / sizeof(*doubtful); i++)
        assert_false(compare(doubtful[i], strlen(doubtful[i])));
}

UNIT_TEST(whatever_is_taken_is_read_alike)
{
    static const char bytes[] = "{}[]\",:\\0159.-+eEtrufnalsX \n\t\x80\xff\0";
    unsigned seed = 11, taken = 0;
    for (int round = 0; round < 200000; round++) {
        char text[512];
        size_t size = strlen(usual[(size_t)round % USUAL_COUNT]);
        memcpy(text, usual[(size_t)round % USUAL_COUNT], size);
        for (int change = 0; change <= round % 3; change++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % size] = bytes[(seed >> 20) % (sizeof(bytes) - 1)];
        }
        taken += compare(text, size);
    }
    assert_true(taken > 20000);
}

UNIT_MAIN(NULL, NULL)
