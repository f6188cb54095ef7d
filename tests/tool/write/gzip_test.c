#include "tests/unit.h"

#include <zlib.h>

#include "base/sink.h"
#include "tool/write/gzip.h"

/* Unpacks one member, and gives how many bytes it took. */
static size_t unpack(const char *data, size_t size, char *text, size_t room, size_t *length)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)data,
                       .avail_in = (unsigned)size,
                       .next_out = (unsigned char *)text,
                       .avail_out = (unsigned)room};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    *length = stream.total_out;
    size_t taken = stream.total_in;
    inflateEnd(&stream);
    return taken;
}

static void test_each_member_can_be_unpacked_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"first", "", "third and last"};
    struct gzip *gzip = gzip_new();
    struct sink out;
    sink_init_memory(&out);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(gzip_member(gzip, &out, texts[i], strlen(texts[i])), 0);
    const char *at = out.data;
    for (size_t i = 0; i < 3; i++) {
        char text[64];
        size_t length;
        at += unpack(at, (size_t)(out.data + out.length - at), text, sizeof(text), &length);
        assert_int_equal(length, strlen(texts[i]));
        assert_memory_equal(text, texts[i], length);
    }
    assert_true(at == out.data + out.length);
    sink_release(&out);
    gzip_free(gzip);
}

static void test_what_does_not_compress_fits_too(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *noise = malloc(SIZE), *back = malloc(SIZE);
    uint64_t number = 1;
    size_t length;
    struct gzip *gzip = gzip_new();
    struct sink out;
    for (size_t i = 0; i < SIZE; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
        noise[i] = (char)(number >> 56);
    }
    sink_init_memory(&out);
    assert_int_equal(gzip_member(gzip, &out, noise, SIZE), 0);
    assert_true(out.length > SIZE);
    assert_int_equal(unpack(out.data, out.length, back, SIZE, &length), out.length);
    assert_int_equal(length, SIZE);
    assert_memory_equal(back, noise, SIZE);
    sink_release(&out);
    gzip_free(gzip);
    free(noise);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_member_can_be_unpacked_alone),
        cmocka_unit_test(test_what_does_not_compress_fits_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
