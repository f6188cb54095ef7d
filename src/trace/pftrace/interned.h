/*
 * What the packet sequences of a .pftrace have interned, and what else is known of them.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_INTERNED_H
#define GPUTRACE_TRACE_PFTRACE_INTERNED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/protobuf.h"
#include "trace/pftrace/pftrace_event.h"

#define PFTRACE_UNKNOWN UINT32_MAX /* a text that was not interned */

struct pftrace_name {
    uint32_t text; /* in the interner */
    uint64_t cbid; /* + 1; 0: none */
};

/* A name of arguments; without one, "" of ARG_OTHER. */
struct pftrace_arg_name {
    enum arg_key key;
    uint32_t text;
};

struct pftrace_category {
    enum category category;
    uint32_t text;
};

struct pftrace_specification {
    uint32_t name;
    struct pftrace_category category;
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
    size_t gaps;      /* items of the tables that nothing was told of */
};

/* Arrays by iid, whose gaps are PFTRACE_UNKNOWN or empty. */
struct pftrace_tables {
    uint64_t last; /* time of the last packet, ns since the base */
    uint64_t uuid; /* of the default track */
    size_t gaps;
    ARRAY(struct pftrace_category) categories;
    ARRAY(struct pftrace_name) names;
    ARRAY(struct pftrace_arg_name) arg_names; /* of annotations */
    ARRAY(struct pftrace_arg_name) compute_arg_names;
    ARRAY(uint32_t) texts;
    ARRAY(struct pftrace_specification) specifications;
    ARRAY(struct pftrace_kernel) kernels;
};

void pftrace_tables_clear(struct pftrace_tables *tables, struct pftrace_interning *interning);

/* Takes InternedData. Gives 0, or -1 without memory, or where it asks for too much of it. */
int pftrace_tables_take(struct pftrace_tables *tables, struct pftrace_interning *interning,
                        struct protobuf_reader data);

/* Grids and blocks come as three arguments each. */
struct pftrace_sizes {
    int32_t grid[3], block[3];
    unsigned seen; /* a bit for each of the six */
};

/* Sets the name of ARG. */
void pftrace_name_arg(const struct interner *strings, const struct pftrace_arg_name *name, struct arg *arg);

/* Of an argument of ARG_TYPE_RAW: makes its text valid JSON, which may be put into SCRATCH, or a text. */
void pftrace_check_raw(struct arg *arg, struct buffer *scratch);

/* An ExtraComputeArg, whose text is where the field was. False: it is none that can be shown, or is one of SIZES. */
bool pftrace_compute_arg(const struct pftrace_tables *tables, const struct interner *strings,
                         struct protobuf_reader message, struct arg *arg, struct pftrace_sizes *sizes);

#endif
