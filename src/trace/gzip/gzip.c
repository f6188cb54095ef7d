#include "trace/gzip/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>

#include "common/log.h"
#include "common/sink.h"
#include "trace/gzip/member.h"

enum {
    GZIP_WINDOW = 15 + 16, /* the largest window, and gzip's own header */
    GZIP_LEVEL = 5,        /* a fifth smaller than 3, for 1.6 times its time; 6 is 7 % smaller for another 1.5 times */
    STREAM_WINDOW = 15,
    STREAM_LEVEL = 4,   /* 13 % smaller than 1 (PyTorch), a tenth longer to write; 5: 6 % smaller, a third longer */
    UNPACKED_USUAL = 6, /* times as many bytes as packed */
    GZIP_MEMORY = 9,
    GZIP_OS_UNIX = 3,
};

struct gzip {
    enum gzip_form form;
    z_stream stream;
    gz_header header;
    uint8_t field[MEMBER_FIELD_SIZE];
};

struct gzip *gzip_new(enum gzip_form form)
{
    struct gzip *gzip = calloc(1, sizeof(*gzip));
    bool members = form == GZIP_MEMBERS;
    if (gzip && deflateInit2(&gzip->stream, members ? GZIP_LEVEL : STREAM_LEVEL, Z_DEFLATED,
                             members ? GZIP_WINDOW : STREAM_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK) {
        gzip->form = form;
        memcpy(gzip->field, MEMBER_FIELD, sizeof(gzip->field));
        gzip->header = (gz_header){.os = GZIP_OS_UNIX, .extra = gzip->field, .extra_len = sizeof(gzip->field)};
        return gzip;
    }
    free(gzip);
    error_no_memory("compression");
    return NULL;
}

void gzip_free(struct gzip *gzip)
{
    if (gzip)
        deflateEnd(&gzip->stream);
    free(gzip);
}

enum gzip_form gzip_form(const struct gzip *gzip)
{
    return gzip->form;
}

/* The bytes of *MADE, in the room of OUT, are not claimed yet. */
static int compress_all(struct gzip *gzip, struct sink *out, const char *data, size_t size, size_t *made)
{
    size_t most = deflateBound(&gzip->stream, size);
    char *room = sink_reserve(out, most);
    if (!room) {
        errno = out->failure;
        return -1;
    }
    gzip->stream.next_in = (unsigned char *)(uintptr_t)data;
    gzip->stream.avail_in = (uInt)size;
    gzip->stream.next_out = (unsigned char *)room;
    gzip->stream.avail_out = (uInt)most;
    int result = deflate(&gzip->stream, Z_FINISH);
    *made = most - gzip->stream.avail_out;
    if (deflateReset(&gzip->stream) != Z_OK || result != Z_STREAM_END) {
        errno = EIO;
        return -1;
    }
    return 0;
}

static int one_member(struct gzip *gzip, struct sink *out, const char *data, size_t size)
{
    size_t made;
    deflateSetHeader(&gzip->stream, &gzip->header);
    if (compress_all(gzip, out, data, size, &made) != 0)
        return -1;
    member_write_u32((uint8_t *)out->data + out->length + MEMBER_SIZE_AT, (uint32_t)made);
    sink_advance(out, made);
    return 0;
}

int gzip_members(struct gzip *gzip, struct sink *out, const char *data, size_t size)
{
    for (; size > MEMBER_TEXT_MOST; data += MEMBER_TEXT_MOST, size -= MEMBER_TEXT_MOST)
        if (one_member(gzip, out, data, MEMBER_TEXT_MOST) != 0)
            return -1;
    return one_member(gzip, out, data, size);
}

int gzip_stream(struct gzip *gzip, struct sink *out, const char *data, size_t size)
{
    size_t made;
    if (compress_all(gzip, out, data, size, &made) != 0)
        return -1;
    sink_advance(out, made);
    return 0;
}

static bool unpack_more(z_stream *stream, struct sink *out, size_t room, int *result)
{
    char *at = sink_reserve(out, room);
    if (!at)
        return false;
    stream->next_out = (unsigned char *)at;
    stream->avail_out = (uInt)room;
    *result = inflate(stream, Z_NO_FLUSH);
    sink_advance(out, room - stream->avail_out);
    return *result == Z_OK;
}

int gzip_unpack_stream(struct sink *out, const uint8_t *data, size_t size, size_t most)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)data, .avail_in = (uInt)size};
    int result = Z_OK;
    out->length = 0;
    if (inflateInit(&stream) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    do {
        size_t left = most - out->length, room = out->length > 0 ? out->length : UNPACKED_USUAL * (size + 64);
        if (!unpack_more(&stream, out, room < left ? room : left, &result))
            break;
    } while (out->length < most);
    bool whole = result == Z_STREAM_END && stream.avail_in == 0;
    inflateEnd(&stream);
    errno = out->failure ? out->failure : result == Z_MEM_ERROR ? ENOMEM : EBADMSG;
    return whole ? 0 : -1;
}
