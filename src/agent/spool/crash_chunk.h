/*
 * The crash chunk: a chunk of the spool that is kept ready for a crashing thread, which cannot ask for one.
 *
 * It begins with a table of open driver calls, each a record that is reused for one call after another. The records of
 * the crashing thread follow.
 */
#ifndef GPUTRACE_AGENT_SPOOL_CRASH_CHUNK_H
#define GPUTRACE_AGENT_SPOOL_CRASH_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/spool_records.h"

#define CRASH_CHUNK_CALLS 256u /* open at once; more are left out */

/* Takes the chunk, once for a spool; where there is no room the rest does nothing. Returns 0 or -1. */
int crash_chunk_open(void);

/* Subscribes to open calls, if TRACE_BITS ask for it. Returns 0, or -1: no memory. */
int crash_chunk_subscribe(uint64_t trace_bits);

/* Room for a record of TYPE and BYTES that is the last in the chunk, its head filled in, the rest zero; NULL: there is
 * none. crash_chunk_commit() makes it visible. Async-signal-safe, for one thread at a time. */
void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time);
void crash_chunk_commit(const struct spool_record *record);

/* In a forked child. */
void crash_chunk_atfork_child(void);

#endif
