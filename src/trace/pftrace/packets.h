/*
 * The packets of a .pftrace, plain or gzip, in runs: as many as lie between two of its borders, or what is held at
 * once.
 *
 * A border is a packet that says that a section begins: what follows it asks for nothing that stands before it (see
 * fields.h). So runs that begin with one can be understood each by itself, by several threads.
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
    uint8_t *rest; /* what was read behind the last run */
    size_t rest_size, rest_capacity;
    uint64_t offset; /* of it in the unpacked file */
    bool in_section; /* the next run continues the one before it */
    bool ended;      /* there is none */
    /* Of the runs that packets_report_end() was called for: one announced the file's last packet; that one came last.
     */
    bool announced, whole;
};

enum packets_end {
    PACKETS_GO_ON, /* there may be a run after this one */
    PACKETS_ENDED,
    PACKETS_CUT_OFF, /* the file ends within a packet */
    PACKETS_BROKEN,  /* what follows is not a packet */
    PACKETS_DAMAGED, /* what follows is a compressed packet that cannot be unpacked: the run's reader says so */
    PACKETS_FAILED,  /* `message` says why the file cannot be read */
};

/* All zero is empty; the same one is to be used again and again. */
struct packets_run {
    uint8_t *bytes; /* whole packets, with their frames */
    size_t size, capacity;
    bool first;
    bool begins;  /* with a section, or the file */
    bool goes_on; /* the next run is of the same section */
    enum packets_end end;
    uint64_t end_offset; /* in the unpacked file */
    bool announced;      /* by the run's reader: PFTRACE_FILE_BEGINS is in it, … */
    bool whole;          /* … and its last packet is PFTRACE_FILE_ENDS */
    char message[128];
};

/* Opens a file as source_open() does. */
int packets_open(struct packets *packets, const char *path);
void packets_close(struct packets *packets);

/* 1: RUN is the next one; 0: there is none; -1 after error(), without memory. */
int packets_next_run(struct packets *packets, struct packets_run *run);
void packets_run_release(struct packets_run *run);

/* Once RUN has been read, and those before it: prints what the user has to know of its end. Returns 0, or -1 after
 * error(). A file that announces its last packet and ends without it is cut off; what others wrote announces none. */
int packets_report_end(struct packets *packets, const struct packets_run *run);

/* Bytes. What is larger is not a packet, and a compressed packet that holds as much is not unpacked. */
#define PACKET_MOST ((size_t)32 << 20)

/* The frame of the packet at AT: 1, HEAD bytes of frame and SIZE of body; 0: it is not whole; -1: there is none. */
int packets_frame(const uint8_t *at, size_t left, size_t *head, size_t *size);

#define PACKETS_SECTION_SIZE 4

static inline bool packets_has_section(const uint8_t *body, size_t size)
{
    static const uint8_t section[PACKETS_SECTION_SIZE] = {0xb8, 0xeb, 0x04, 0x01}; /* PFTRACE_OWN_SECTION: 1 */
    return size >= sizeof(section) && memcmp(body, section, sizeof(section)) == 0;
}

/* Whether compressed_packets is what the body begins with. */
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
 * Compresses a trace as it stands in a .pftrace file: each section becomes one packet (compressed_packets, see
 * fields.h), and so does what stands before the first one. The file becomes a third as large or less.
 *
 * Adds to OUT, a buffer in memory, what the packets of DATA become in the file. *DONE is set to the number of bytes
 * that were used; the rest, a section that may not be whole, must be given again together with what follows it. ALL:
 * nothing follows, and every byte is used. GZIP makes streams. Returns 0, or -1 with errno set. */
int pftrace_compress(struct gzip *gzip, struct buffer *out, const char *data, size_t size, bool all, size_t *done);

#endif
