/*
 * The inside of a reader of packets: what is known of the file, and the event at hand, which bodies of packets make.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_EVENTS_H
#define GPUTRACE_TRACE_PFTRACE_READER_EVENTS_H

#include "trace/pftrace/packets.h"
#include "trace/pftrace/reader_interned.h"

/* The flow ends at the slice. */
#define PFTRACE_FLOW_ENDS (UINT64_C(4) << 32)

enum pftrace_what {
    PFTRACE_METADATA, /* name: the key; text: the value, JSON */
    PFTRACE_PROCESS,  /* pid, name, text: label, sort_index, is_gpu */
    PFTRACE_THREAD,   /* pid, tid, name, sort_index */
    PFTRACE_SLICE,    /* pid, tid, category, name, start, end, args, flows */
    PFTRACE_INSTANT,  /* pid, tid, category, name, start, args */
    PFTRACE_ASYNC,    /* pid, tid, end_pid, end_tid, category, name, start, end, id, args */
    PFTRACE_COUNTER,  /* pid, name, start, args: its values */
};

/* Texts that come often are strings of the reader's interner: name, category and the names of arguments are the same
 * pointer whenever they are the same text, and live as long as it does. All else is valid until the next call. */
struct pftrace_event {
    enum pftrace_what what;
    uint32_t pid, tid;
    uint32_t end_pid, end_tid;
    enum category category;
    const char *other_category; /* of CATEGORY_OTHER: its name */
    const char *name;
    size_t name_length;
    const char *text; /* NULL: none */
    size_t length;
    uint64_t start, end; /* ns since pftrace_base() */
    uint64_t id;
    int64_t sort_index;
    uint32_t owner; /* of a GPU's rows: the pid of the process whose operations they show */
    bool instant;   /* of a range: it is a moment within one */
    bool is_gpu;    /* its rows are those of a GPU */
    bool is_head;   /* the flows end at this slice; else they start there */
    bool one_value; /* of a counter: it has one value, without a name; the argument's type distinguishes bytes from a
                       value */
    uint64_t flow_time;    /* as start */
    const uint64_t *flows; /* ids; of those between TrackEvents with PFTRACE_FLOW_OF_… and PFTRACE_FLOW_ENDS */
    size_t flow_count;
    /* Arguments: of the event alone, those that it shares with others (NULL: none), and two that are written elsewhere.
     * The values of a counter are arguments of ARG_OTHER. */
    const struct arg *args;
    size_t arg_count;
    const struct pftrace_kernel *shared;
    uint64_t cbid; /* + 1; 0: none */
    uint64_t correlation;
    bool has_correlation;
};

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
    bool given_out;               /* the event was given: a new one begins */
    bool open;                    /* a BEGIN was read, whose END must follow */
    bool own_correlation;         /* there is an argument of that name */
    uint64_t open_track;
};

/* All that return int below: 1, reader->event is whole; 0, more is to be read; -1 after error(). */

/* The packet's body. */
int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_descriptor_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);
int pftrace_attribute_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);

#endif
