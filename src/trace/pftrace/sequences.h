/*
 * The packet sequences that a reader of .pftrace knows: their clocks, defaults, and tables of what they have interned.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_SEQUENCES_H
#define GPUTRACE_TRACE_PFTRACE_SEQUENCES_H

#include "trace/pftrace/reader_state.h"

/* NULL after error(). */
struct pftrace_tables *pftrace_sequence(struct pftrace_reader *reader, uint64_t number);

/* Sequences, and the tracks of counters. */
void pftrace_sequences_forget(struct pftrace_reader *reader);

void pftrace_take_defaults(struct pftrace_tables *tables, struct protobuf_reader defaults);
void pftrace_take_snapshot(struct pftrace_reader *reader, struct pftrace_tables *tables,
                           struct protobuf_reader snapshot);

/* ns since the trace's base. */
uint64_t pftrace_packet_time(const struct pftrace_reader *reader, struct pftrace_tables *tables,
                             const struct pftrace_packet *packet);

#endif
