/*
 * What the packet sequences of a .pftrace have interned, and what else is known of them.
 */
#ifndef GPUTRACE_TOOL_PFTRACE_INTERNED_H
#define GPUTRACE_TOOL_PFTRACE_INTERNED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/protobuf.h"
#include "tool/pftrace/arg.h"

#define PFTRACE_UNKNOWN UINT32_MAX /* a text that was not interned */

struct pftrace_name {
    uint32_t text; /* in the interner */
    uint64_t cbid; /* + 1; 0: none */
};

struct pftrace_specification {
    uint32_t name, description;
};

struct pftrace_kernel {
    ARRAY(struct pftrace_arg) args;
};

/* Arrays by iid, whose gaps are PFTRACE_UNKNOWN or empty. */
struct pftrace_tables {
    uint64_t last; /* time of the last packet, ns since the base */
    uint64_t uuid; /* of the default track */
    ARRAY(uint32_t) categories;
    ARRAY(struct pftrace_name) names;
    ARRAY(uint32_t) arg_names; /* of annotations */
    ARRAY(uint32_t) compute_arg_names;
    ARRAY(uint32_t) texts;
    ARRAY(struct pftrace_specification) specifications;
    ARRAY(struct pftrace_kernel) kernels;
};

void pftrace_tables_clear(struct pftrace_tables *tables);

/* Takes InternedData. Gives 0, or -1 without memory. */
int pftrace_tables_take(struct pftrace_tables *tables, struct interner *strings, struct protobuf_reader data);

/* Grids and blocks come as three arguments each. */
struct pftrace_sizes {
    struct pftrace_arg grid, block;
    unsigned seen; /* a bit for each of the six */
};

/* An ExtraComputeArg, whose text is where the field was. False: it is none that can be shown, or is one of SIZES. */
bool pftrace_compute_arg(const struct pftrace_tables *tables, const struct interner *strings,
                         struct protobuf_reader message, struct pftrace_arg *arg, struct pftrace_sizes *sizes);

#endif
