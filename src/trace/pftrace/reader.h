/*
 * Reads runs of packets (packets.h) of a .pftrace, and gives what was written into them, event by event, in the file's
 * order. Several readers understand runs at once. Memory grows with the names in a section, not with its events.
 *
 *     struct pftrace_reader *reader = pftrace_reader_new(&strings);
 *     pftrace_take(reader, &run);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *     pftrace_close(reader);
 *
 * Of a trace that others wrote it gives what is like ours, and counts the rest: pftrace_left_out().
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_H
#define GPUTRACE_TRACE_PFTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "common/protobuf.h"
#include "trace/event.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/packets.h"

struct pftrace_reader;

struct pftrace_kernel;

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

/* Makes a reader. STRINGS must outlive it. NULL after error(). */
struct pftrace_reader *pftrace_reader_new(struct interner *strings);
void pftrace_close(struct pftrace_reader *reader);

/* Reads RUN, whose bytes stay as they are until pftrace_next() gave 0. One that begins with a section may come after
 * any other; else it must follow the one before. A compressed packet that cannot be unpacked becomes the run's end,
 * PACKETS_DAMAGED. */
void pftrace_take(struct pftrace_reader *reader, struct packets_run *run);
/* Forgets all; then STRINGS may have been released, and be used again. */
void pftrace_forget(struct pftrace_reader *reader);

/* 1: *EVENT is one, valid until the next call; 0: the run has ended; -1 after error(). */
int pftrace_next(struct pftrace_reader *reader, const struct pftrace_event **event);

/* Packets that were understood by their frame alone. */
uint64_t pftrace_left_out(const struct pftrace_reader *reader);

/* Whether a file that begins with these bytes may be one: the others that gputrace reads begin with text, or are
 * gzip. */
static inline bool pftrace_begins(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '\n' && !(size > 1 && (bytes[1] == '{' || bytes[1] == '[' || bytes[1] == ' '));
}

/*
 * The inside of a reader: what is known of the file, and the event at hand.
 */

/* --- reader_interned.c: what packet sequences have interned --- */

#define PFTRACE_UNKNOWN UINT32_MAX /* a text that was not interned */

/* A text, and what it means: a category, or the name of an argument. */
struct pftrace_entry {
    uint32_t text; /* in the interner */
    enum category category;
    enum arg_key key;
    uint64_t cbid; /* of a name of events, + 1; 0: none */
};

struct pftrace_specification {
    uint32_t name;
    struct pftrace_entry category;
};

/* What launches of a kernel, or copies of a stream, have in common. */
struct pftrace_kernel {
    ARRAY(struct arg) args; /* texts live as long as the interner */
    uint32_t number;        /* in the order of their coming, from 1; 0: there is none of this iid */
    bool tells_correlation; /* by an argument of that name */
};

/* What all sequences of a reader share. */
struct pftrace_interning {
    struct interner *strings;
    uint32_t kernels; /* numbers that were given */
    size_t gaps;      /* items of the tables that are empty */
};

/* Arrays by iid, whose gaps are PFTRACE_UNKNOWN or empty. */
struct pftrace_tables {
    uint64_t last; /* time of the last packet, ns since the base */
    uint64_t uuid; /* of the default track */
    size_t gaps;
    struct pftrace_entries {
        struct pftrace_entry *items;
        size_t count, capacity;
    } categories, names, arg_names /* of annotations */, compute_arg_names, texts;
    ARRAY(struct pftrace_specification) specifications;
    ARRAY(struct pftrace_kernel) kernels;
};

void pftrace_tables_clear(struct pftrace_tables *tables, struct pftrace_interning *interning);

/* Takes InternedData. Returns 0, or -1 without memory, or where it asks for too much of it. */
int pftrace_tables_take(struct pftrace_tables *tables, struct pftrace_interning *interning,
                        struct protobuf_reader data);

/* Grids and blocks come as three arguments each. */
struct pftrace_sizes {
    int32_t grid[3], block[3];
    unsigned seen; /* a bit for each of the six */
};

/* Sets the name of ARG. */
void pftrace_name_arg(const struct interner *strings, const struct pftrace_entry *name, struct arg *arg);

/* Of an argument of ARG_TYPE_RAW: makes its text valid JSON, which may be put into SCRATCH, or a text. */
void pftrace_check_raw(struct arg *arg, struct buffer *scratch);

/* An ExtraComputeArg, whose text is where the field was. False: it is none that can be shown, or is one of SIZES. */
bool pftrace_compute_arg(const struct pftrace_tables *tables, const struct interner *strings,
                         struct protobuf_reader message, struct arg *arg, struct pftrace_sizes *sizes);

/* --- */

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

static inline struct pftrace_entry pftrace_look_up(const struct pftrace_entries *entries, uint64_t iid)
{
    return iid < entries->count ? entries->items[iid] : (struct pftrace_entry){.text = PFTRACE_UNKNOWN};
}

/* All that return int below: 1, reader->event is whole; 0, more is to be read; -1 after error(). */

/* reader_events.c: the packet's body. */
int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time);
int pftrace_descriptor_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);
int pftrace_attribute_event(struct pftrace_reader *reader, const struct pftrace_packet *packet);

/* reader.c. "": the text does not exist. */
const char *pftrace_text(const struct pftrace_reader *reader, uint32_t text);
void pftrace_set_row(struct pftrace_event *event, uint64_t uuid);
void pftrace_set_name(struct pftrace_reader *reader, uint32_t name);
void pftrace_set_category(struct pftrace_reader *reader, const struct pftrace_entry *category);
int pftrace_no_memory(void);

/* Of an argument that is text of JSON: makes it valid. Returns 0, or -1 after error(). */
int pftrace_clean_arg(struct pftrace_reader *reader, struct arg *arg);

/* An argument of the event at hand. Returns 0, or -1 after error(). */
static inline int pftrace_push_arg(struct pftrace_reader *reader, const struct arg *arg)
{
    struct arg *place = array_push(&reader->args);
    if (!place)
        return pftrace_no_memory();
    *place = *arg;
    reader->own_correlation |= arg->key == ARG_CORRELATION;
    return arg->type == ARG_TYPE_RAW ? pftrace_clean_arg(reader, place) : 0;
}

/* Unless NONE, or it has one, the argument that the first flow stands for. */
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
