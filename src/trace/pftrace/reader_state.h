/*
 * The inside of a reader of .pftrace: what is known of the file, and the event at hand.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_STATE_H
#define GPUTRACE_TRACE_PFTRACE_READER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/protobuf.h"
#include "common/buffer.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/interned.h"
#include "trace/pftrace/packets.h"
#include "trace/pftrace/pftrace_event.h"

#define PFTRACE_TIME_MOST (UINT64_C(1) << 62)

/* A packet's own fields. */
struct pftrace_packet {
    uint64_t time, sequence;
    bool has_time, cleared;
    uint64_t clock;      /* 0: the sequence's own */
    uint64_t mark;       /* PFTRACE_OWN_WHOLE; 0: none */
    bool no_correlation; /* of a track event: PFTRACE_OWN_NO_CORRELATION … */
    uint64_t follow;     /* … PFTRACE_OWN_SERIES_FOLLOW … */
    uint64_t counter;    /* … and PFTRACE_OWN_COUNTER_U64; 0: none */
    struct protobuf_field body, defaults, interned;
};

/* A track of a counter's value. */
struct pftrace_counter_track {
    uint32_t pid;
    uint32_t counter, series; /* texts; series PFTRACE_UNKNOWN: the only value */
};

#define PFTRACE_RECENT 64 /* sequences that are found without the map; a power of two */

struct pftrace_reader {
    struct packets_run *given;  /* the run at hand */
    struct protobuf_reader run; /* what is left of it, or of the compressed packet at hand, and then … */
    struct compressed_packet {
        bool open;
        const uint8_t *at;            /* in the run */
        struct protobuf_reader after; /* … of the run */
        struct buffer packets;        /* in memory: what it holds */
    } compressed;
    struct pftrace_interning interning;
    struct map sequences; /* number -> index + 1 */
    ARRAY(struct pftrace_tables *) tables;
    struct {
        uint64_t number;
        struct pftrace_tables *tables;
    } recent[PFTRACE_RECENT];
    struct map counters; /* uuid -> index + 1 */
    ARRAY(struct pftrace_counter_track) counter_tracks;
    uint64_t base, left_out;
    struct pftrace_event event;
    ARRAY(struct arg) args;
    ARRAY(uint64_t) flows;
    ARRAY(struct buffer) cleaned; /* texts of arguments that are not as they stand in the packet */
    struct buffer text;           /* what must outlive its packet */
    bool told;                    /* the event was given: a new one begins */
    bool open;                    /* a BEGIN was read, whose END must follow */
    bool own_correlation;         /* there is an argument of that name */
    uint64_t open_track;
};

#define PFTRACE_LOOK_UP(array, iid, nothing) ((iid) < (array)->count ? (array)->items[iid] : (nothing))

/* All that gives int below: 1, reader->event is whole; 0, more is to be read; -1 after error(). */

/* reader_events.c: the packet's body. */
int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_descriptor_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);
int pftrace_attribute_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);

/* reader.c. "": there is no such text. */
const char *pftrace_text(const struct pftrace_reader *reader, uint32_t text);
void pftrace_set_row(struct pftrace_event *event, uint64_t uuid);
void pftrace_set_name(struct pftrace_reader *reader, uint32_t name);
void pftrace_set_category(struct pftrace_reader *reader, const struct pftrace_category *category);
int pftrace_no_memory(void);

/* Of an argument that is text of JSON: makes it valid. Gives 0, or -1 after error(). */
int pftrace_clean_arg(struct pftrace_reader *reader, struct arg *arg);

/* An argument of the event at hand. Gives 0, or -1 after error(). */
static inline int pftrace_push_arg(struct pftrace_reader *reader, const struct arg *arg)
{
    struct arg *place = array_push(&reader->args);
    if (!place)
        return pftrace_no_memory();
    *place = *arg;
    reader->own_correlation |= arg->key == ARG_CORRELATION;
    return arg->type == ARG_TYPE_RAW ? pftrace_clean_arg(reader, place) : 0;
}

/* Unless NONE, or it has one, the argument that the first flow tells. */
void pftrace_set_correlation(struct pftrace_reader *reader, bool none);

static inline uint32_t pftrace_uuid_pid(uint64_t uuid)
{
    return (uint32_t)((uuid >> 32) - 1);
}

static inline uint32_t pftrace_uuid_tid(uint64_t uuid)
{
    return (uint32_t)uuid & ~(uint32_t)PFTRACE_UUID_RANGES;
}

#endif
