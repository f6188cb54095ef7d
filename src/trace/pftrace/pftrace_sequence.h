/*
 * The packets of a .pftrace piece: one packet sequence for each lane of a row, what each has interned, and when its
 * last packet was. See trace/pftrace/fields.h for the format.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PFTRACE_SEQUENCE_H
#define GPUTRACE_TRACE_PFTRACE_PFTRACE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/buffer.h"
#include "trace/event.h"
#include "trace/pftrace/fields.h"

/* What is interned, each counted by itself. */
enum pftrace_interned {
    PFTRACE_CATEGORIES,
    PFTRACE_NAMES,
    PFTRACE_ARG_NAMES, /* of annotations, or of GPU work */
    PFTRACE_TEXTS,
    PFTRACE_SPECIFICATIONS,
    PFTRACE_KERNELS,
    PFTRACE_CONTEXTS,
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

/* A packet that begins the sequence, once: its state is cleared, its clocks and default track told. BASE is the
 * trace's. */
void pftrace_sequence_begin(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                            uint64_t base);

#endif
