#include "tests/unit.h"

#include <errno.h>

#include <zlib.h>

#include "common/buffer.h"
#include "trace/gzip/gzip.h"

/* Unpacks one member, and gives how many bytes it took. */
static size_t unpack(const char *data, size_t size, char *text, size_t space, size_t *length)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)data,
                       .avail_in = (unsigned)size,
                       .next_out = (unsigned char *)text,
                       .avail_out = (unsigned)space};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    *length = stream.total_out;
    size_t taken = stream.total_in;
    inflateEnd(&stream);
    return taken;
}

UNIT_TEST(test_each_member_can_be_unpacked_alone)
{
    static const char *const texts[] = {"first", "", "third and last"};
    struct gzip *gzip = gzip_new(GZIP_MEMBERS);
    struct buffer out;
    buffer_init_memory(&out);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(gzip_members(gzip, &out, texts[i], strlen(texts[i])), 0);
    const char *at = out.data;
    for (size_t i = 0; i < 3; i++) {
        char text[64];
        size_t length, said = member_size((const uint8_t *)at);
        const char *before = at;
        at += unpack(at, (size_t)(out.data + out.length - at), text, sizeof(text), &length);
        assert_int_equal(said, at - before);
        assert_int_equal(length, strlen(texts[i]));
        assert_memory_equal(text, texts[i], length);
    }
    assert_true(at == out.data + out.length);
    buffer_release(&out);
    gzip_free(gzip);
}

/* A MiB and a byte of noise. */
UNIT_TEST(test_what_does_not_compress_fits_too)
{
    enum { SIZE = MEMBER_TEXT_MOST + 1 };
    char *noise = malloc(SIZE), *back = malloc(SIZE);
    uint64_t number = 1;
    size_t length = 0, got = 0;
    struct gzip *gzip = gzip_new(GZIP_MEMBERS);
    struct buffer out;
    for (size_t i = 0; i < SIZE; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
        noise[i] = (char)(number >> 56);
    }
    buffer_init_memory(&out);
    assert_int_equal(gzip_members(gzip, &out, noise, SIZE), 0);
    size_t first = unpack(out.data, out.length, back, SIZE, &got);
    assert_int_equal(got, MEMBER_TEXT_MOST);
    assert_int_equal(member_size((const uint8_t *)out.data), first);
    assert_true(first > MEMBER_TEXT_MOST && first <= MEMBER_SIZE_MOST);
    assert_int_equal(unpack(out.data + first, out.length - first, back + got, SIZE - got, &length), out.length - first);
    assert_int_equal(got + length, SIZE);
    assert_memory_equal(back, noise, SIZE);
    buffer_release(&out);
    gzip_free(gzip);
    free(noise);
    free(back);
}

UNIT_TEST(test_what_others_wrote_has_no_size)
{
    static const uint8_t ours[MEMBER_HEAD_SIZE] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, 8, 0, 'G', 'T', 4, 0, 99};
    static const struct {
        size_t at;
        uint8_t byte;
    } others[] = {{0, 0},  {1, 0x8c}, {2, 7},    {3, 0},  {3, 12},  {10, 6},
                  {11, 1}, {12, 'B'}, {13, 'C'}, {14, 2}, {16, 28}, {18, 64}};
    assert_int_equal(member_size(ours), 99);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        uint8_t head[MEMBER_HEAD_SIZE];
        memcpy(head, ours, sizeof(head));
        head[others[i].at] = others[i].byte;
        assert_int_equal(member_size(head), 0);
    }
}

UNIT_TEST(test_a_stream_is_unpacked_if_it_is_whole_and_small_enough)
{
    enum { SIZE = 1 << 20 };
    char *text = calloc(1, SIZE);
    struct gzip *gzip = gzip_new(GZIP_STREAMS);
    struct buffer out, back;
    buffer_init_memory(&out);
    buffer_init_memory(&back);
    assert_int_equal(gzip_stream(gzip, &out, text, SIZE), 0);
    const uint8_t *stream = (const uint8_t *)out.data;
    assert_int_equal(gzip_unpack_stream(&back, stream, out.length, SIZE + 1), 0);
    assert_int_equal(back.length, SIZE);
    assert_memory_equal(back.data, text, SIZE);
    assert_int_equal(gzip_unpack_stream(&back, stream, out.length, SIZE / 2), -1);
    assert_int_equal(errno, EBADMSG);
    for (size_t length = 0; length < out.length; length++) {
        assert_int_equal(gzip_unpack_stream(&back, stream, length, SIZE + 1), -1);
        assert_int_equal(errno, EBADMSG);
    }
    buffer_release(&out);
    buffer_release(&back);
    gzip_free(gzip);
    free(text);
}

UNIT_MAIN(NULL, NULL)
