/*
 * The values of one sample of an NVTX counter: one, or of a group one for each number in its schema, with what is meant
 * by them applied: scale, normalisation, differences added up.
 */
#ifndef GPUTRACE_TRACE_BUILD_COUNTER_SERIES_H
#define GPUTRACE_TRACE_BUILD_COUNTER_SERIES_H

#include "trace/build/conversion.h"
#include "trace/build/payload_values.h"

#define SERIES_NAME_BYTES 96 /* of a path through nested schemas; a longer one is cut */

struct series_value {
    char name[SERIES_NAME_BYTES];
    size_t length;
    const struct spool_nvtx_semantics *semantics; /* NULL: none */
    uint64_t type;                                /* of NVTX's */
    struct payload_number number;
};

struct series {
    size_t count;
    struct series_value values[NVTX_SERIES_MAX];
};

/* The values that SIZE bytes hold as the counter's schema says. */
void series_read(struct series *series, const struct process *process, const struct nvtx_counter *counter,
                 const uint8_t *bytes, uint64_t size);

/* The same of a number that came by itself. */
void series_read_number(struct series *series, const struct nvtx_counter *counter, struct payload_number number);

/* The meaning of a value that is a difference is added to TOTAL, which is kept from sample to sample. False: it cannot
 * be drawn. */
bool series_value_meant(const struct series_value *value, double *total, struct counter_value *out);

enum {
    SERIES_NORMALIZE = 1 << 1,
    SERIES_LIMIT_MIN = 1 << 2,
    SERIES_LIMIT_MAX = 1 << 3,
    SERIES_VALUE_TYPE = 3 << 4, /* of these bits one of: */
    SERIES_ABSOLUTE = 1 << 4,
    SERIES_DELTA = 2 << 4,
    SERIES_DELTA_SINCE_START = 3 << 4,
    SERIES_INTERPOLATION = 7 << 8,
};

#endif
