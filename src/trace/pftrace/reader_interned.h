/*
 * The interned data of the packet sequences of a .pftrace.
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

#define PFTRACE_UNKNOWN UINT32_MAX /* number of a text that was not interned */

/* A text of the file, and its meaning if it is a category or the name of an argument. */
struct pftrace_entry {
    uint32_t text; /* number in the interner */
    enum category category;
    enum arg_key key;
    uint64_t cbid; /* cbid + 1 of the events with this name; 0: none */
};

struct pftrace_specification {
    uint32_t name;
    struct pftrace_entry category;
};

/* The arguments that launches of a kernel, or copies of a stream, share. */
struct pftrace_kernel {
    ARRAY(struct arg) args; /* their texts live as long as the interner */
    uint32_t number;        /* counted from 1 in the file's order; 0: no kernel has this iid */
    bool tells_correlation; /* the arguments have "correlation" */
};

/* The state that all sequences of a reader share. */
struct pftrace_interning {
    struct interner *strings;
    uint32_t kernels; /* last number of a kernel */
    size_t gaps;      /* empty items of all tables */
};

/* The tables of a sequence: arrays indexed by iid. Unused items are PFTRACE_UNKNOWN or empty. */
struct pftrace_tables {
    uint64_t last; /* time of the last packet, ns since the base */
    uint64_t uuid; /* uuid of the default track */
    size_t gaps;
    struct pftrace_entries {
        struct pftrace_entry *items;
        size_t count, capacity;
    } categories, names, arg_names /* names of annotations */, compute_arg_names, texts;
    ARRAY(struct pftrace_specification) specifications;
    ARRAY(struct pftrace_kernel) kernels;
};

void pftrace_tables_clear(struct pftrace_tables *tables, struct pftrace_interning *interning);

/* Reads a message InternedData. Returns 0, or -1 without memory or if its iids are too large. */
int pftrace_tables_take(struct pftrace_tables *tables, struct pftrace_interning *interning,
                        struct protobuf_reader data);

/* Grids and blocks, which the file has as three arguments each. */
struct pftrace_sizes {
    int32_t grid[3], block[3];
    unsigned seen; /* a bit for each of the six numbers */
};

/* Sets the key and name of ARG. */
void pftrace_name_arg(const struct interner *strings, const struct pftrace_entry *name, struct arg *arg);

/* Makes the text of an argument of ARG_TYPE_RAW valid JSON, perhaps in SCRATCH. Text that is not JSON becomes
 * ARG_TYPE_TEXT. */
void pftrace_check_raw(struct arg *arg, struct buffer *scratch);

/* Reads an ExtraComputeArg into ARG, whose text points into MESSAGE. Returns false if the argument is to be ignored, or
 * was added to SIZES. */
bool pftrace_compute_arg(const struct pftrace_tables *tables, const struct interner *strings,
                         struct protobuf_reader message, struct arg *arg, struct pftrace_sizes *sizes);

static inline struct pftrace_entry pftrace_look_up(const struct pftrace_entries *entries, uint64_t iid)
{
    return iid < entries->count ? entries->items[iid] : (struct pftrace_entry){.text = PFTRACE_UNKNOWN};
}

#endif
