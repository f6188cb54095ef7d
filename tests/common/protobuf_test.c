#include "tests/unit.h"

#include "common/protobuf.h"

static struct buffer buffer;

UNIT_FIXTURE(set_up)
{
    buffer_init_memory(&buffer);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    buffer_release(&buffer);
    return 0;
}

static struct protobuf_reader written(void)
{
    return protobuf_reader(buffer.data, buffer.length);
}

UNIT_TEST_WITH(test_numbers_come_back, set_up, tear_down)
{
    static const uint64_t numbers[] = {0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    struct protobuf_field field;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        char bytes[PROTOBUF_VARINT_SPACE];
        protobuf_put_u64(&buffer, (uint32_t)i + 1, numbers[i]);
        assert_int_equal(protobuf_varint(bytes, numbers[i]) - bytes, protobuf_varint_size(numbers[i]));
    }
    struct protobuf_reader reader = written();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        assert_true(protobuf_next(&reader, &field));
        assert_int_equal(field.number, i + 1);
        assert_int_equal(field.type, PROTOBUF_VARINT);
        assert_true(field.value == numbers[i]);
    }
    assert_false(protobuf_next(&reader, &field));
    assert_false(reader.broken);
}

/* As the encoding's documentation has it: field 1 of value 150, field 2 of the text "testing". */
UNIT_TEST_WITH(test_bytes_are_those_of_the_documentation, set_up, tear_down)
{
    static const unsigned char expected[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'};
    protobuf_put_u64(&buffer, 1, 150);
    protobuf_put_text(&buffer, 2, "testing");
    assert_int_equal(buffer.length, sizeof(expected));
    assert_memory_equal(buffer.data, expected, sizeof(expected));
}

UNIT_TEST_WITH(test_doubles_come_back, set_up, tear_down)
{
    struct protobuf_field field;
    protobuf_put_double(&buffer, 3000, -1.5e300);
    struct protobuf_reader reader = written();
    assert_true(protobuf_next(&reader, &field));
    assert_int_equal(field.number, 3000);
    assert_true(protobuf_double(&field) == -1.5e300);
}

/* One byte, two and three of length: the body is moved when it has become longer than expected. */
UNIT_TEST_WITH(test_messages_of_any_length_nest, set_up, tear_down)
{
    static const size_t sizes[] = {0, 1, 125, 126, 127, 128, 200, 16000, 20000};
    static char text[20000];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct protobuf_field field;
        buffer.length = 0;
        size_t outer = protobuf_begin(&buffer, 1), inner = protobuf_begin(&buffer, 2);
        protobuf_put_bytes(&buffer, 3, text, sizes[i]);
        protobuf_end(&buffer, inner);
        protobuf_put_u64(&buffer, 4, 44);
        protobuf_end(&buffer, outer);
        struct protobuf_reader reader = written();
        assert_true(protobuf_next(&reader, &field));
        assert_true(reader.at == reader.end);
        reader = protobuf_inside(&field);
        assert_true(protobuf_next(&reader, &field));
        struct protobuf_reader inside = protobuf_inside(&field);
        assert_true(protobuf_next(&reader, &field));
        assert_int_equal(field.value, 44);
        assert_true(protobuf_next(&inside, &field));
        assert_int_equal(field.size, sizes[i]);
        assert_memory_equal(field.bytes, text, sizes[i]);
    }
}

static void ends_broken(const char *bytes, size_t size)
{
    struct protobuf_reader reader = protobuf_reader(bytes, size);
    struct protobuf_field field;
    while (protobuf_next(&reader, &field))
        ;
    assert_true(reader.broken);
    assert_false(protobuf_next(&reader, &field));
}

UNIT_TEST_WITH(test_what_is_broken_ends, set_up, tear_down)
{
    ends_broken("\x08", 1);     /* no value */
    ends_broken("\x08\x80", 2); /* a value that goes on */
    ends_broken("\x12\x05"
                "abc",
                5);                                                      /* bytes beyond the end */
    ends_broken("\x09\x01\x02", 3);                                      /* half a fixed64 */
    ends_broken("\x0b", 1);                                              /* a group, which is not read */
    ends_broken("\x00", 1);                                              /* field 0 */
    ends_broken("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12); /* more than 64 bits */
    ends_broken("\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);         /* a size that overflows */
}

UNIT_MAIN(NULL, NULL)
