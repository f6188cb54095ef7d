#include "tool/pftrace/packets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/log.h"
#include "tool/pftrace/fields.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define PACKET_MOST ((size_t)1 << 30) /* larger ones are no packets */
#define HEAD_MOST (2 * PROTOBUF_VARINT_ROOM)

int packets_open(struct packets *packets, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    *packets = (struct packets){.path = standard ? "standard input" : path, .capacity = WINDOW_BYTES};
    packets->window = malloc(packets->capacity);
    if (!packets->window)
        return error_no_memory("reading");
    packets->file = standard ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (!packets->file) {
        free(packets->window);
        return error("cannot open '%s': %s", packets->path, strerror(errno));
    }
    gzbuffer(packets->file, 128 * 1024);
    return 0;
}

void packets_close(struct packets *packets)
{
    gzclose(packets->file);
    free(packets->window);
}

static int read_more(struct packets *packets)
{
    size_t room = packets->capacity - packets->end;
    int got = gzread(packets->file, packets->window + packets->end, (unsigned)(room < INT32_MAX ? room : INT32_MAX));
    if (got < 0) {
        int number;
        const char *message = gzerror(packets->file, &number);
        return error("cannot read '%s': %s", packets->path, number == Z_ERRNO ? strerror(errno) : message);
    }
    packets->end += (size_t)got;
    packets->at_end = got == 0;
    return 0;
}

/* Makes the window hold SIZE bytes, or all that is left. Gives 0, or -1 after error(). */
static int fill(struct packets *packets, size_t size)
{
    while (packets->end - packets->begin < size && !packets->at_end) {
        if (packets->begin > 0) {
            memmove(packets->window, packets->window + packets->begin, packets->end - packets->begin);
            packets->end -= packets->begin;
            packets->begin = 0;
        }
        if (packets->end == packets->capacity) {
            uint8_t *grown = realloc(packets->window, packets->capacity * 2);
            if (!grown)
                return error_no_memory("a packet of the trace");
            packets->window = grown;
            packets->capacity *= 2;
        }
        if (read_more(packets) != 0)
            return -1;
    }
    return 0;
}

static int broken(const struct packets *packets)
{
    return error("'%s' is no trace in Perfetto's format: byte %" PRIu64 " begins no packet", packets->path,
                 packets->offset);
}

static int cut_off(struct packets *packets)
{
    warning("'%s' is cut off at byte %" PRIu64 ": what follows the last whole packet is left out", packets->path,
            packets->offset);
    packets->begin = packets->end;
    return 0;
}

/* The frame of the next packet. 1, 0 when the file ends in it, -1 after error(). */
static int read_head(struct packets *packets, size_t *head, size_t *size)
{
    const uint8_t *at = packets->window + packets->begin;
    size_t left = packets->end - packets->begin;
    uint64_t length = 0;
    if (at[0] != (PB_TRACE_PACKET << 3 | PROTOBUF_BYTES))
        return broken(packets);
    for (*head = 1; *head < left && *head <= PROTOBUF_VARINT_ROOM; ++*head) {
        length |= (uint64_t)(at[*head] & 0x7f) << (7 * (*head - 1));
        if (at[*head] < 0x80) {
            *size = (size_t)length;
            ++*head;
            return length <= PACKET_MOST ? 1 : broken(packets);
        }
    }
    return *head < left ? broken(packets) : 0;
}

int packets_next(struct packets *packets, struct protobuf_reader *packet)
{
    size_t head = 0, size = 0;
    if (fill(packets, HEAD_MOST) != 0)
        return -1;
    if (packets->begin == packets->end)
        return 0;
    int found = read_head(packets, &head, &size);
    if (found < 0 || (found > 0 && fill(packets, head + size) != 0))
        return -1;
    if (found == 0 || packets->end - packets->begin < head + size)
        return cut_off(packets);
    *packet = protobuf_reader(packets->window + packets->begin + head, size);
    packets->begin += head + size;
    packets->offset += head + size;
    return 1;
}
