/*
 * The private part of the reader of packets: its state, the current event, and functions that read bodies of packets.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_EVENTS_H
#define GPUTRACE_TRACE_PFTRACE_READER_EVENTS_H

#include "trace/pftrace/packets.h"
#include "trace/pftrace/reader_interned.h"

/* Set in the number of a flow between TrackEvents that ends at the slice. */
#define PFTRACE_FLOW_ENDS (UINT64_C(4) << 32)

enum pftrace_what {
    PFTRACE_METADATA, /* name (the key), text (the value, JSON) */
    PFTRACE_PROCESS,  /* pid, name, text (the label), sort_index, owner, is_gpu */
    PFTRACE_THREAD,   /* pid, tid, name, sort_index */
    PFTRACE_SLICE,    /* pid, tid, category, name, start, end, args, flows */
    PFTRACE_INSTANT,  /* pid, tid, category, name, start, args */
    PFTRACE_ASYNC,    /* pid, tid, end_pid, end_tid, category, name, start, end, id, args */
    PFTRACE_COUNTER,  /* pid, name, start, args (its values), one_value */
};

/* An event. Name, category and names of arguments are strings of the reader's interner: equal texts have one address,
 * and live as long as the interner. Everything else is valid until the next call of pftrace_next(). */
struct pftrace_event {
    enum pftrace_what what;
    uint32_t pid, tid;
    uint32_t end_pid, end_tid;
    enum category category;
    const char *other_category; /* name of a category that is not in the table; else NULL */
    const char *name;
    size_t name_length;
    const char *text; /* NULL: none */
    size_t length;
    uint64_t start, end; /* ns since the trace's base */
    uint64_t id;
    int64_t sort_index;
    uint32_t owner;        /* pid of the process whose operations a GPU's rows show */
    bool instant;          /* an instant within an asynchronous range */
    bool is_gpu;           /* the process stands for a GPU */
    bool is_head;          /* the flows end at this slice, else they start there */
    bool one_value;        /* a counter with one value, unnamed: bytes if it is an integer, else a real value */
    uint64_t flow_time;    /* ns since the trace's base */
    const uint64_t *flows; /* ids; flows between TrackEvents also have PFTRACE_FLOW_OF_… and PFTRACE_FLOW_ENDS */
    size_t flow_count;
    /* Arguments: the event's own, those that it shares with other events (NULL: none), and two that are stored
     * elsewhere in the file. The values of a counter are arguments with ARG_OTHER. */
    const struct arg *args;
    size_t arg_count;
    const struct pftrace_kernel *shared;
    uint64_t cbid; /* argument "cbid" + 1; 0: none */
    uint64_t correlation;
    bool has_correlation;
};

#define PFTRACE_TIME_MOST (UINT64_C(1) << 62)

/* The fields of a TracePacket. */
struct pftrace_packet {
    uint64_t time, sequence;
    bool has_time, cleared;
    uint64_t clock;      /* 0: the sequence's default clock */
    uint64_t mark;       /* PFTRACE_OWN_WHOLE; 0: none */
    bool no_correlation; /* PFTRACE_OWN_NO_CORRELATION of a TrackEvent */
    uint64_t follow;     /* PFTRACE_OWN_SERIES_FOLLOW of a TrackEvent; 0: none */
    uint64_t counter;    /* PFTRACE_OWN_COUNTER_U64 of a TrackEvent; 0: none */
    struct protobuf_field body, defaults, interned;
};

/* The track of one value of a counter. */
struct pftrace_counter_track {
    uint32_t pid;
    uint32_t counter, series; /* texts; series PFTRACE_UNKNOWN: the only value */
};

#define PFTRACE_RECENT 64 /* sequences that are cached by number; a power of two */

struct pftrace_reader {
    struct packets_run *given;  /* the current run */
    struct protobuf_reader run; /* the rest of the run, or of the open compressed packet */
    struct compressed_packet {
        bool open;
        const uint8_t *at;            /* place of the compressed packet in the run */
        struct protobuf_reader after; /* the rest of the run behind the compressed packet */
        struct buffer packets;        /* in memory: the unpacked packets */
    } compressed;
    struct pftrace_interning interning;
    struct map sequences; /* number of a sequence -> index in `tables` + 1 */
    ARRAY(struct pftrace_tables *) tables;
    struct {
        uint64_t number;
        struct pftrace_tables *tables;
    } recent[PFTRACE_RECENT];
    struct map counters; /* uuid -> index in `counter_tracks` + 1 */
    ARRAY(struct pftrace_counter_track) counter_tracks;
    uint64_t base, left_out;
    struct pftrace_event event;
    ARRAY(struct arg) args;
    ARRAY(uint64_t) flows;
    ARRAY(struct buffer) cleaned; /* texts of arguments that had to be cleaned */
    struct buffer text;           /* texts that must outlive their packet */
    bool given_out;               /* pftrace_next() returned the event, so a new one begins */
    bool open;                    /* a BEGIN was read, and its END must follow */
    bool own_correlation;         /* the event has an argument "correlation" */
    uint64_t open_track;
};

/* These functions read a packet's body. They return 1 if reader->event is complete, 0 if not yet, or -1 after
 * error(). */

int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_descriptor_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);
int pftrace_attribute_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);

#endif
