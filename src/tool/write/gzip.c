#include "tool/write/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>

#include "base/log.h"
#include "base/sink.h"

enum {
    GZIP_WINDOW = 15 + 16, /* the largest window, and gzip's own header */
    GZIP_LEVEL = 3,        /* traces compress twentyfold; higher ones cost more time than they save */
    GZIP_MEMORY = 9,
};

struct gzip {
    z_stream stream;
};

struct gzip *gzip_new(void)
{
    struct gzip *gzip = calloc(1, sizeof(*gzip));
    if (gzip &&
        deflateInit2(&gzip->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
        return gzip;
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

/* Of a size that zlib, which counts in 32 bits, can take at once. */
static int small_member(struct gzip *gzip, struct sink *out, const char *data, size_t size)
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
    size_t made = most - gzip->stream.avail_out;
    if (deflateReset(&gzip->stream) != Z_OK || result != Z_STREAM_END) {
        errno = EIO;
        return -1;
    }
    sink_advance(out, made);
    return 0;
}

int gzip_member(struct gzip *gzip, struct sink *out, const char *data, size_t size)
{
    const size_t most = (size_t)1 << 30;
    for (; size > most; data += most, size -= most)
        if (small_member(gzip, out, data, most) != 0)
            return -1;
    return small_member(gzip, out, data, size);
}
