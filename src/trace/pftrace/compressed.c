#include "trace/pftrace/compressed.h"

#include <errno.h>

#include "common/protobuf.h"
#include "trace/gzip/gzip.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/packets.h"

/* What one large packet makes longer than this is not compressed, so that readers need little memory. */
#define SECTION_MOST ((size_t)1 << 20)

/* The first packet of a section, its mark, becomes a field of the packet that holds the others. The first packet of the
 * file stays as it is: its length, the file's second byte, tells the file from JSON (pftrace_begins()). */
static int compress_others(struct gzip *gzip, struct buffer *out, const char *data, size_t size, size_t first,
                           bool section)
{
    if (!section)
        buffer_bytes(out, data, first);
    size_t packet = protobuf_begin(out, PB_TRACE_PACKET);
    if (section)
        protobuf_put_u64(out, PFTRACE_OWN_SECTION, 1);
    size_t packets = protobuf_begin(out, PB_PACKET_COMPRESSED_PACKETS);
    if (gzip_stream(gzip, out, data + first, size - first) != 0)
        return -1;
    protobuf_end(out, packets);
    protobuf_end(out, packet);
    return 0;
}

static int put(struct gzip *gzip, struct buffer *out, const char *data, size_t size, bool section)
{
    size_t frame, length;
    bool whole = packets_frame((const uint8_t *)data, size, &frame, &length) > 0;
    if (!whole || frame + length == size || size > SECTION_MOST)
        buffer_bytes(out, data, size);
    else if (compress_others(gzip, out, data, size, frame + length, section) != 0)
        return -1;
    errno = out->failure;
    return out->failure ? -1 : 0;
}

int pftrace_compress(struct gzip *gzip, struct buffer *out, const char *data, size_t size, bool all, size_t *done)
{
    size_t at = 0, frame, length;
    bool section = false;
    *done = 0;
    while (packets_frame((const uint8_t *)data + at, size - at, &frame, &length) > 0) {
        if (packets_begin_section((const uint8_t *)data + at + frame, length)) {
            if (put(gzip, out, data + *done, at - *done, section) != 0)
                return -1;
            *done = at;
            section = true;
        }
        at += frame + length;
    }
    size_t end = all ? size : *done;
    if (put(gzip, out, data + *done, end - *done, section) != 0)
        return -1;
    *done = end;
    return 0;
}
