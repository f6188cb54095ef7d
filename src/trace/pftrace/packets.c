/* Reads packets from a file into runs, and compresses the packets of sections for the writer. */
#include "trace/pftrace/packets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/protobuf.h"
#include "trace/pftrace/fields.h"

_Static_assert((PFTRACE_OWN_SECTION << 3) == (0x38 | 0x6b << 7 | 0x04 << 14), "the bytes of packets_has_section()");
_Static_assert((PB_PACKET_COMPRESSED_PACKETS << 3 | PROTOBUF_BYTES) == (0x12 | 0x03 << 7),
               "the bytes of packets_are_compressed()");

#define READ_BYTES ((size_t)64 << 10)
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { RUN_LEAST = 64, RUN_MOST = 256, RUN_PACKETS_MOST = 16 }; /* several runs in a file of some hundred bytes */
#else
enum {
    RUN_LEAST = 64 << 10,     /* bytes; shorter sections share a run */
    RUN_MOST = 768 << 10,     /* bytes; a longer section takes several runs, */
    RUN_PACKETS_MOST = 49152, /* and so does one of more packets */
};
#endif
#define UNPACKED_USUAL 6 /* assumed ratio of compression, for the limits above */

int packets_open(struct packets *packets, const char *path)
{
    *packets = (struct packets){0};
    return source_open(&packets->source, path);
}

void packets_close(struct packets *packets)
{
    source_close(&packets->source);
    free(packets->rest);
}

void packets_run_release(struct packets_run *run)
{
    free(run->bytes);
    *run = (struct packets_run){0};
}

/* --- bytes --- */

static bool reserve(uint8_t **bytes, size_t *capacity, size_t size)
{
    if (size <= *capacity)
        return true;
    size_t wanted = size > 2 * *capacity ? size : 2 * *capacity;
    uint8_t *grown = realloc(*bytes, wanted);
    if (!grown)
        return false;
    *bytes = grown;
    *capacity = wanted;
    return true;
}

/* Appends bytes of the file to RUN. Returns 1, 0 at the end with the reason in run->end, or -1 without memory. */
static int read_more(struct packets *packets, struct packets_run *run)
{
    size_t got = 0;
    if (!reserve(&run->bytes, &run->capacity, run->size + READ_BYTES))
        return -1;
    if (!packets->failure.failed)
        got = source_read(&packets->source, (char *)run->bytes + run->size, READ_BYTES, &packets->failure);
    run->size += got;
    if (got > 0)
        return 1;
    const struct source_failure *failure = &packets->failure;
    run->end = !failure->failed ? PACKETS_ENDED : failure->cut_off ? PACKETS_CUT_OFF : PACKETS_FAILED;
    snprintf(run->message, sizeof(run->message), "%s", failure->number ? strerror(failure->number) : failure->message);
    return 0;
}

/* Moves the bytes behind the first SIZE to `rest`, for the next run. */
static int leave_rest(struct packets *packets, struct packets_run *run, size_t size)
{
    size_t rest = run->size - size;
    if (!reserve(&packets->rest, &packets->rest_capacity, rest))
        return -1;
    if (rest > 0)
        memcpy(packets->rest, run->bytes + size, rest);
    packets->rest_size = rest;
    packets->offset += size;
    run->end_offset = packets->offset;
    run->size = size;
    return 0;
}

/* --- packets --- */

int packets_frame(const uint8_t *at, size_t left, size_t *head, size_t *size)
{
    uint64_t length = 0;
    if (left == 0)
        return 0;
    if (at[0] != (PB_TRACE_PACKET << 3 | PROTOBUF_BYTES))
        return -1;
    for (*head = 1; *head < left && *head <= PROTOBUF_VARINT_SPACE; ++*head) {
        length |= (uint64_t)(at[*head] & 0x7f) << (7 * (*head - 1));
        if (at[*head] >= 0x80)
            continue;
        ++*head;
        *size = (size_t)length;
        return length > PACKET_MOST ? -1 : length <= left - *head;
    }
    return *head < left ? -1 : 0;
}

/* The packets that a run has so far. */
struct passed {
    size_t bytes, count;
    size_t unpacked; /* estimated bytes after unpacking */
};

/* Adds complete packets to PASSED. Returns whether the run ends after them; else more bytes are needed. */
static bool find_end(struct packets *packets, struct packets_run *run, struct passed *passed)
{
    for (;;) {
        size_t head = 0, size = 0;
        const uint8_t *at = run->bytes + passed->bytes;
        int found = packets_frame(at, run->size - passed->bytes, &head, &size);
        if (found < 0)
            run->end = PACKETS_BROKEN;
        if (found <= 0)
            return found < 0;
        bool section = packets_begin_section(at + head, size);
        if (section && passed->unpacked >= RUN_LEAST) {
            packets->in_section = false;
            return true;
        }
        if (passed->count == RUN_PACKETS_MOST || passed->unpacked >= RUN_MOST) {
            packets->in_section = true;
            return true;
        }
        passed->bytes += head + size;
        bool packed = section ? size > PACKETS_SECTION_SIZE : packets_are_compressed(at + head, size);
        passed->unpacked += head + (packed ? size * UNPACKED_USUAL : size);
        passed->count++;
    }
}

int packets_next_run(struct packets *packets, struct packets_run *run)
{
    struct passed passed = {0};
    int more = 1;
    if (packets->ended)
        return 0;
    run->end = PACKETS_GO_ON;
    run->announced = run->whole = false;
    run->begins = !packets->in_section;
    run->first = packets->offset == 0;
    if (!reserve(&run->bytes, &run->capacity, packets->rest_size + RUN_MOST + 2 * READ_BYTES))
        return error_no_memory("reading");
    if (packets->rest_size > 0)
        memcpy(run->bytes, packets->rest, packets->rest_size);
    run->size = packets->rest_size;
    packets->rest_size = 0;
    while (more > 0 && !find_end(packets, run, &passed))
        more = read_more(packets, run);
    if (run->end == PACKETS_ENDED && passed.bytes < run->size)
        run->end = PACKETS_CUT_OFF;
    packets->ended = run->end != PACKETS_GO_ON;
    run->goes_on = !packets->ended && packets->in_section;
    if (more < 0 || leave_rest(packets, run, passed.bytes) != 0)
        return error_no_memory("a packet of the trace");
    return 1;
}

int packets_report_end(struct packets *packets, const struct packets_run *run)
{
    const char *path = packets->source.path;
    packets->announced |= run->announced;
    if (run->size > 0)
        packets->whole = run->whole;
    switch (run->end) {
    case PACKETS_GO_ON: return 0;
    case PACKETS_ENDED:
        if (packets->announced && !packets->whole)
            warning("'%s' is cut off at byte %" PRIu64 ": its last packets are missing", path, run->end_offset);
        return 0;
    case PACKETS_CUT_OFF:
        if (run->end_offset == 0)
            return error("'%s' is cut off within its first packet: nothing of it can be read", path);
        warning("'%s' is cut off at byte %" PRIu64 ": what follows the last complete packet is left out", path,
                run->end_offset);
        return 0;
    case PACKETS_BROKEN:
        return error("'%s' is not a trace in Perfetto's format: no packet begins at byte %" PRIu64, path,
                     run->end_offset);
    case PACKETS_DAMAGED:
        return error("'%s' is damaged: the compressed packet at byte %" PRIu64 " cannot be unpacked", path,
                     run->end_offset);
    case PACKETS_FAILED: break;
    }
    return error("cannot read '%s': %s", path, run->message);
}

/* --- compressing --- */

/* The longest section that is compressed, so that readers need little memory. A section with one large packet may be
 * longer. */
#define SECTION_MOST ((size_t)1 << 20)

/* Compresses all packets but the first. The first packet of a section, its mark, becomes a field of the packet that
 * holds the others. The first packet of the file is copied: its length, the file's second byte, distinguishes the file
 * from JSON (pftrace_begins()). */
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
