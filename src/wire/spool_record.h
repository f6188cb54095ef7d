/*
 * What every record of the library's own begins with; spool.h tells the rest.
 */
#ifndef GPUTRACE_WIRE_SPOOL_RECORD_H
#define GPUTRACE_WIRE_SPOOL_RECORD_H

#include <stdint.h>

/* Our own records: this head, then the fields of its type, then texts. Sizes are multiples of 8. */
struct spool_record {
    uint16_t type;  /* enum spool_record_type */
    uint16_t flags; /* of the type; 0 where it tells of none */
    uint32_t bytes; /* the whole record with padding */
    uint64_t time;  /* CLOCK_REALTIME, ns */
};

#endif
