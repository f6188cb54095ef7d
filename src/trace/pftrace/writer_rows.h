/*
 * The private part of the .pftrace sink (fields.h describes the format): its state, which has the names of the whole
 * trace's rows, the packet sequences of the current piece, and the slice that may still get flows.
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

/* The tables of interned data; each has separate iids. */
enum pftrace_interned {
    PFTRACE_CATEGORIES,
    PFTRACE_NAMES,
    PFTRACE_ARG_NAMES, /* names of annotations, or of GPU operations' arguments */
    PFTRACE_TEXTS,
    PFTRACE_SPECIFICATIONS,
    PFTRACE_KERNELS,
    PFTRACE_CONTEXTS,
    PFTRACE_FUNCTIONS,
    PFTRACE_SOURCES,
    PFTRACE_MAPPINGS, /* mappings and their paths, with equal iids */
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
    struct buffer interned; /* InternedData for the next packet */
};

#define PFTRACE_OWN_FIELDS_MAX 2 /* in one packet of an event */

struct pftrace_sequences {
    /* Our own fields for the next packet of an event. They are fields of the packet, because Perfetto counts unknown
     * fields of an event as errors, and skips those of a packet. */
    struct {
        uint32_t field;
        uint64_t value;
    } own[PFTRACE_OWN_FIELDS_MAX];
    size_t own_count;
    struct map by_row; /* hash of row and lane -> index in items + 1 */
    ARRAY(struct pftrace_sequence *) items;
    struct pftrace_sequence *recent[PFTRACE_LANE_COUNT];
    struct buffer packet;
};

void pftrace_sequences_init(struct pftrace_sequences *sequences);
void pftrace_sequences_release(struct pftrace_sequences *sequences);

/* Adds one of our own fields to the next packet of an event. */
static inline void pftrace_add_own(struct pftrace_sequences *sequences, uint32_t field, uint64_t value)
{
    sequences->own[sequences->own_count].field = field;
    sequences->own[sequences->own_count++].value = value;
}

/* Returns the sequence of a row's lane, old or new, or NULL after error(). */
struct pftrace_sequence *pftrace_sequence_find(struct pftrace_sequences *sequences, struct row row,
                                               enum pftrace_lane lane);

/* Returns the iid of the data with HASH, or 0 without memory. If *IS_NEW, the caller must append the data to
 * sequence->interned. */
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

/* Returns the iid of TEXT in TABLE of InternedData, and appends a new text to it. Returns 0 without memory, or if TEXT
 * is NULL. */
uint64_t pftrace_intern(struct pftrace_sequence *sequence, enum pftrace_interned what, uint32_t table, const char *text,
                        size_t length, bool *is_new);

/* Writes a packet with TIME, ns since the base, the sequence's new interned data and FIELD with BODY to OUT. */
void pftrace_packet(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                    uint64_t time, uint32_t field, const char *body, size_t size);

/* Writes a packet without time and sequence to OUT; BODY is its content. */
void pftrace_plain_packet(struct buffer *out, const struct buffer *body);

/* Writes a packet that relates BOOTTIME to REALTIME, the trace's clock. Must be called once, before the first packet
 * with a time. The trace has no times of BOOTTIME, and the time of booting is unknown, so both clocks get BASE. Without
 * the packet a trace processor counts an error (clock_sync_unrelatable_clock_domains). PACKET is overwritten. */
void pftrace_relate_clocks(struct buffer *packet, struct buffer *out, uint64_t base);

/* Writes the packet that begins the sequence, once: it clears the state, and sets clocks and default track. BASE is the
 * trace's base. */
void pftrace_sequence_begin(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                            uint64_t base);

/* --- the arguments of an event (writer_args.h) --- */

/* The shape of a kernel's launch, from its arguments; 0: unknown. */
struct pftrace_launch {
    uint32_t grid[3], block[3];
    uint32_t registers, shared, dynamic, shared_config; /* registers per thread; bytes */
    bool has_dynamic;
};

/* The destination of an event's arguments. */
struct pftrace_put {
    struct pftrace_sequence *sequence;
    struct buffer *body;   /* takes annotations, or arguments of a launch */
    struct buffer *shared; /* takes shared arguments of a GPU operation; NULL for a TrackEvent */
    struct buffer *text;   /* scratch for texts */
    /* arguments that are not written, but kept here: */
    uint64_t cbid; /* cbid + 1; only for a TrackEvent */
    uint64_t correlation;
    bool has_correlation, hold_correlation; /* hold: keep it here */
    uint64_t device, context;
    struct pftrace_launch launch;
    uint64_t stack; /* number of the event's call stack; 0: none */
};

/* --- the state --- */

/* A frame of a call stack. */
struct pftrace_frame {
    char *function, *module, *file; /* NULL: unknown */
    uint32_t line;                  /* 0: unknown */
    uint64_t parent;                /* number of the caller's frame; 0: none */
    uint64_t offset;                /* in the module's file, if `line` is 0 */
};

/* The limits of a GPU; all 0: unknown. */
struct pftrace_gpu {
    uint32_t multiprocessors;
    struct multiprocessor multiprocessor;
};

/* GPUs, frames and rows of the whole trace, which do not change while there are pieces. */
struct pftrace_rows {
    ARRAY(struct pftrace_gpu) gpus; /* indexed by number */
    struct map frame_of_number;     /* number of a frame -> index in frames + 1 */
    ARRAY(struct pftrace_frame) frames;
    struct map by_uuid; /* uuid of a row, or of a process with tid 0 -> index in items + 1 */
    ARRAY(struct pftrace_row {
        char *name;
        uint32_t owner; /* pid that owns a GPU's rows */
    })
    items;
};

struct pftrace_state {
    const struct pftrace_rows *rows;
    struct pftrace_rows own_rows;       /* rows of the whole; unused in a piece */
    struct pftrace_sequences sequences; /* sequences of the current section */
    bool in_section;
    uint64_t section_start; /* bytes that were written before the section */
    struct buffer body, launch, shared, text, name;
    struct pftrace_pending {
        enum { PFTRACE_NOTHING, PFTRACE_CALL, PFTRACE_GPU_OP } what;
        struct pftrace_put put;
        struct row row;
        uint64_t start, end;   /* ns since the base */
        ARRAY(uint64_t) flows; /* ids of flows between a call and a GPU operation */
        ARRAY(struct pftrace_link {
            uint32_t field; /* PB_EVENT_FLOW_IDS, or PB_EVENT_TERMINATING_FLOW_IDS */
            uint64_t id;
        })
        links;          /* flows between TrackEvents */
        bool waits;     /* a call that waits: its flow leads to a slice of synchronisation, not to a GPU operation */
        uint64_t delay; /* ns from the start of a GPU operation to the end of its flow */
    } pending;
};

/* Keep a row's name, and write the descriptor of its track. */
void pftrace_write_process(struct sink *sink, const struct row_name *process);
void pftrace_write_thread(struct sink *sink, const struct row_name *thread);
void pftrace_rows_release(struct pftrace_rows *rows);
/* Writes the descriptor of a track without a name, for a row that has none. */
void pftrace_describe_row(struct sink *sink, struct row row);

/* Returns a row, or NULL if it has no name. */
const struct pftrace_row *pftrace_row(const struct pftrace_rows *rows, struct row row);

/* Reads the frames of the metadata "stackFrames". */
void pftrace_read_frames(struct sink *sink, const char *value, size_t size);
/* Returns the iid of the call stack NUMBER in SEQUENCE, which interns new ones, or 0 if the stack is unknown. */
uint64_t pftrace_callstack(const struct pftrace_rows *rows, struct pftrace_sequence *sequence, uint64_t number);

/* Sets the failure of the sink's buffer to ENOMEM. */
void pftrace_fail(struct sink *sink);

/* Writes a text as FIELD, made valid UTF-8. */
void pftrace_put_valid(struct pftrace_state *state, struct buffer *buffer, uint32_t field, const char *text,
                       size_t length);
static inline uint64_t pftrace_time(const struct sink *sink, uint64_t time)
{
    return time > sink->base ? time - sink->base : 0;
}

#endif
