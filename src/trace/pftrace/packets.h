/*
 * The packets of a .pftrace, plain or gzip, in runs of consecutive packets, which fit into memory.
 *
 * A run ends before a packet that begins a section, or when it is large. Packets of a section do not depend on earlier
 * ones (see fields.h), so several threads can read runs that begin with a section.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PACKETS_H
#define GPUTRACE_TRACE_PFTRACE_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/gzip/gzip.h"

struct buffer;
struct gzip;

struct packets {
    struct source source;
    struct source_failure failure;
    uint8_t *rest; /* bytes that were read behind the last run */
    size_t rest_size, rest_capacity;
    uint64_t offset; /* of `rest` in the unpacked file */
    bool in_section; /* the next run continues the section of the last one */
    bool ended;      /* there is no next run */
    /* The runs that were passed to packets_report_end(): one announced the file's last packet; the last run ended with
     * it. */
    bool announced, whole;
};

enum packets_end {
    PACKETS_GO_ON, /* another run may follow */
    PACKETS_ENDED,
    PACKETS_CUT_OFF, /* the file ends within a packet */
    PACKETS_BROKEN,  /* the bytes at end_offset are not a packet */
    PACKETS_DAMAGED, /* a compressed packet cannot be unpacked; set by the run's reader */
    PACKETS_FAILED,  /* reading failed; see `message` */
};

/* A run. All zero is empty. Reuse one struct for many runs, as it keeps its memory. */
struct packets_run {
    uint8_t *bytes; /* whole packets, with their frames */
    size_t size, capacity;
    bool first;
    bool begins;  /* begins with a section or the file */
    bool goes_on; /* the next run continues the section */
    enum packets_end end;
    uint64_t end_offset; /* offset of the run's end in the unpacked file */
    bool announced;      /* set by the run's reader: it has PFTRACE_FILE_BEGINS */
    bool whole;          /* set by the run's reader: its last packet is PFTRACE_FILE_ENDS */
    char message[128];
};

/* Opens a file with source_open(). Returns 0, or -1 after error(). */
int packets_open(struct packets *packets, const char *path);
void packets_close(struct packets *packets);

/* Reads the next run into RUN. Returns 1, 0 if there are no more runs, or -1 after error(): no memory. */
int packets_next_run(struct packets *packets, struct packets_run *run);
void packets_run_release(struct packets_run *run);

/* Reports how RUN ended, once RUN and all runs before it were read. Returns 0, perhaps after a warning that the file is
 * cut off, or -1 after error(). A file is also cut off if it lacks the last packet that it announces. */
int packets_report_end(struct packets *packets, const struct packets_run *run);

/* The most bytes of a packet, and of the packets in a compressed one. */
#define PACKET_MOST ((size_t)32 << 20)

/* Reads the frame of the packet at AT: *HEAD bytes, then *SIZE bytes of body. Returns 1, 0 if LEFT bytes do not hold
 * the packet, or -1 if there is no packet. */
int packets_frame(const uint8_t *at, size_t left, size_t *head, size_t *size);

#define PACKETS_SECTION_SIZE 4

static inline bool packets_has_section(const uint8_t *body, size_t size)
{
    static const uint8_t section[PACKETS_SECTION_SIZE] = {0xb8, 0xeb, 0x04, 0x01}; /* PFTRACE_OWN_SECTION: 1 */
    return size >= sizeof(section) && memcmp(body, section, sizeof(section)) == 0;
}

/* Whether the packet's first field is compressed_packets. */
static inline bool packets_are_compressed(const uint8_t *body, size_t size)
{
    return size > 2 && body[0] == 0x92 && body[1] == 0x03; /* PB_PACKET_COMPRESSED_PACKETS */
}

static inline bool packets_begin_section(const uint8_t *body, size_t size)
{
    return packets_has_section(body, size) &&
           (size == PACKETS_SECTION_SIZE ||
            packets_are_compressed(body + PACKETS_SECTION_SIZE, size - PACKETS_SECTION_SIZE));
}

/*
 * Compresses packets for a .pftrace file: each section becomes one packet (compressed_packets, see fields.h), and so do
 * the packets before the first section. The file shrinks to a third or less.
 *
 * Appends the compressed packets of DATA to OUT, a buffer in memory. Sets *DONE to the number of bytes that were used.
 * The caller must pass the rest, a section that may be incomplete, again together with what follows it. ALL: nothing
 * follows, and all bytes are used. GZIP must be of GZIP_STREAMS. Returns 0, or -1 with errno set.
 */
int pftrace_compress(struct gzip *gzip, struct buffer *out, const char *data, size_t size, bool all, size_t *done);

#endif
