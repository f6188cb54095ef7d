/*
 * The inside of the sink of .pftrace (fields.h has the format): what it remembers of the whole trace, the names of
 * rows, and of its own piece, the packet sequences and the slice that may still get flows.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_WRITER_ROWS_H
#define GPUTRACE_TRACE_PFTRACE_WRITER_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "common/multiprocessor.h"
#include "trace/pftrace/fields.h"
#include "trace/sink.h"

/* --- one packet sequence for each lane of a row --- */

/* The tables of interned texts, each with numbers of its own. */
enum pftrace_interned {
    PFTRACE_CATEGORIES,
    PFTRACE_NAMES,
    PFTRACE_ARG_NAMES, /* of annotations, or of GPU operations */
    PFTRACE_TEXTS,
    PFTRACE_SPECIFICATIONS,
    PFTRACE_KERNELS,
    PFTRACE_CONTEXTS,
    PFTRACE_FUNCTIONS,
    PFTRACE_SOURCES,
    PFTRACE_MAPPINGS, /* and their paths */
    PFTRACE_FRAMES,
    PFTRACE_CALLSTACKS,
    PFTRACE_INTERNED_COUNT,
};

struct pftrace_sequence {
    uint32_t number; /* trusted_packet_sequence_id, from 1 */
    struct row row;
    enum pftrace_lane lane;
    bool begun;
    uint64_t last; /* time of the last packet, ns since the base */
    struct map iids[PFTRACE_INTERNED_COUNT];
    uint64_t next_iid[PFTRACE_INTERNED_COUNT];
    uint8_t arg_name_iids[ARG_KEY_COUNT];
    uint64_t category_iids[CATEGORY_COUNT];
    struct buffer interned; /* InternedData that the next packet takes along */
};

#define PFTRACE_OWN_FIELDS_MAX 2 /* of one packet of an event */

struct pftrace_sequences {
    /* Goes into the next packet of an event, beside the event: Perfetto counts fields of an event that it does not know
     * as errors, and passes over those of a packet. */
    struct {
        uint32_t field;
        uint64_t value;
    } own[PFTRACE_OWN_FIELDS_MAX];
    size_t own_count;
    struct map by_row; /* row and lane -> index + 1 in items */
    ARRAY(struct pftrace_sequence *) items;
    struct pftrace_sequence *recent[PFTRACE_LANE_COUNT];
    struct buffer packet;
};

void pftrace_sequences_init(struct pftrace_sequences *sequences);
void pftrace_sequences_release(struct pftrace_sequences *sequences);

/* A field of our own for the next packet of an event. */
static inline void pftrace_add_own(struct pftrace_sequences *sequences, uint32_t field, uint64_t value)
{
    sequences->own[sequences->own_count].field = field;
    sequences->own[sequences->own_count++].value = value;
}

/* NULL after error(). */
struct pftrace_sequence *pftrace_sequence_find(struct pftrace_sequences *sequences, struct row row,
                                               enum pftrace_lane lane);

/* The number of what has this HASH; *is_new: it is to be put into sequence->interned now. 0 without memory. */
static inline uint64_t pftrace_iid(struct pftrace_sequence *sequence, enum pftrace_interned what, uint64_t hash,
                                   bool *is_new)
{
    *is_new = false;
    uint64_t *iid = map_put(&sequence->iids[what], hash, is_new);
    if (!iid)
        return 0;
    if (*is_new)
        *iid = ++sequence->next_iid[what];
    return *iid;
}

/* The number of a text that TABLE of InternedData has, which is put there if it is new. 0 without memory, and of NULL.
 */
uint64_t pftrace_intern(struct pftrace_sequence *sequence, enum pftrace_interned what, uint32_t table, const char *text,
                        size_t length, bool *is_new);

/* A packet of TIME, ns since the base, whose FIELD is BODY, after what is interned, to OUT. */
void pftrace_packet(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                    uint64_t time, uint32_t field, const char *body, size_t size);

/* A packet without time of no sequence; BODY is all of it. */
void pftrace_plain_packet(struct buffer *out, const struct buffer *body);

/* A packet that relates BOOTTIME to REALTIME, the clock of the trace, once before the first packet with a time. No time
 * is one of BOOTTIME, and when the machine was booted is not known: the two are written as equal. But a trace processor
 * that finds no way from one to the other counts an error (clock_sync_unrelatable_clock_domains). PACKET is
 * overwritten.
 */
void pftrace_relate_clocks(struct buffer *packet, struct buffer *out, uint64_t base);

/* A packet that begins the sequence, once: its state is cleared, its clocks and default track written. BASE is the
 * trace's. */
void pftrace_sequence_begin(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                            uint64_t base);

/* --- the arguments of an event (writer_args.h) --- */

/* The shape of a kernel's launch, as its arguments say it; 0: not known. */
struct pftrace_launch {
    uint32_t grid[3], block[3];
    uint32_t registers, shared, dynamic, shared_config; /* of a thread; bytes */
    bool has_dynamic;
};

/* Where the arguments of one event go. */
struct pftrace_put {
    struct pftrace_sequence *sequence;
    struct buffer *body;   /* annotations, or arguments of a launch */
    struct buffer *shared; /* of a GPU operation: arguments of an interned kernel; NULL: of a TrackEvent */
    struct buffer *text;   /* for texts that must be put together */
    /* what is not put, but noted: */
    uint64_t cbid; /* + 1; of a TrackEvent alone */
    uint64_t correlation;
    bool has_correlation, hold_correlation; /* hold: it is wanted here */
    uint64_t device, context;
    struct pftrace_launch launch;
    uint64_t stack; /* that the event has; 0: none */
};

/* --- the state --- */

/* Written while there are no pieces, read by all of them. */
struct pftrace_frame {
    char *function, *module, *file; /* NULL: not known */
    uint32_t line;                  /* 0: not known */
    uint64_t parent;                /* number of the frame that called it; 0: none */
    uint64_t offset;                /* in the module's file, where LINE is not known */
};

/* What a GPU's multiprocessors hold; all 0: it is not known. */
struct pftrace_gpu {
    uint32_t multiprocessors;
    struct multiprocessor multiprocessor;
};

struct pftrace_rows {
    ARRAY(struct pftrace_gpu) gpus; /* by number */
    struct map frame_of_number;     /* -> index + 1 in frames */
    ARRAY(struct pftrace_frame) frames;
    struct map by_uuid; /* of a row, or of a process with tid 0 -> index + 1 in names */
    ARRAY(struct pftrace_row {
        char *name;
        uint32_t owner; /* of a GPU's process */
    })
    items;
};

struct pftrace_state {
    const struct pftrace_rows *rows;
    struct pftrace_rows own_rows;       /* of the whole; not of a piece */
    struct pftrace_sequences sequences; /* of the section */
    bool in_section;
    uint64_t section_start; /* bytes that were written before it */
    struct buffer body, launch, shared, text, name;
    struct pftrace_pending {
        enum { PFTRACE_NOTHING, PFTRACE_CALL, PFTRACE_GPU_OP } what;
        struct pftrace_put put;
        struct row row;
        uint64_t start, end;   /* ns since the base */
        ARRAY(uint64_t) flows; /* between a call and a GPU operation */
        ARRAY(struct pftrace_link {
            uint32_t field; /* PB_EVENT_FLOW_IDS, or PB_EVENT_TERMINATING_FLOW_IDS */
            uint64_t id;
        })
        links;          /* between TrackEvents */
        bool waits;     /* a call that GPU work does not begin with: its flow leads to a slice of synchronisation */
        uint64_t delay; /* from the start to the flow's head */
    } pending;
};

/* Remembers a row, and describes its track. */
void pftrace_write_process(struct sink *sink, const struct row_name *process);
void pftrace_write_thread(struct sink *sink, const struct row_name *thread);
void pftrace_rows_release(struct pftrace_rows *rows);
/* A track for a row that is not known, without a name. */
void pftrace_describe_row(struct sink *sink, struct row row);

/* Returns what is known of a row; NULL: nothing. */
const struct pftrace_row *pftrace_row(const struct pftrace_rows *rows, struct row row);

/* What JSON has as "stackFrames". */
void pftrace_read_frames(struct sink *sink, const char *value, size_t size);
/* The call stack of this number as one that SEQUENCE has interned; 0: it is not known. */
uint64_t pftrace_callstack(const struct pftrace_rows *rows, struct pftrace_sequence *sequence, uint64_t number);

/* There was no memory. */
void pftrace_fail(struct sink *sink);

/* A text that may not be valid UTF-8. */
void pftrace_put_valid(struct pftrace_state *state, struct buffer *buffer, uint32_t field, const char *text,
                       size_t length);
static inline uint64_t pftrace_time(const struct sink *sink, uint64_t time)
{
    return time > sink->base ? time - sink->base : 0;
}

#endif
