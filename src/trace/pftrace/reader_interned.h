/*
 * What the packet sequences of a .pftrace have interned.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_INTERNED_H
#define GPUTRACE_TRACE_PFTRACE_READER_INTERNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "common/protobuf.h"
#include "trace/event.h"
#include "trace/pftrace/fields.h"

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

static inline struct pftrace_entry pftrace_look_up(const struct pftrace_entries *entries, uint64_t iid)
{
    return iid < entries->count ? entries->items[iid] : (struct pftrace_entry){.text = PFTRACE_UNKNOWN};
}

#endif
