/*
 * The recorder: subscribers that write events into the spool. record_events.c writes those of CUDA and NVTX; here are
 * recording on and off, notes to the user, the records of plugins, and the chunk for a crash.
 *
 * Names, contexts, streams, memory and phases are always written, because the trace cannot be read without them; NVTX
 * events and synchronisation only while recording is on. For CUDA events alone (TRACE_EVENT without TRACE_SYNC) nothing
 * is written: CUPTI records their calls.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORDER_H
#define GPUTRACE_AGENT_SPOOL_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/writer.h"
#include "common/settings.h"
#include "common/spool.h"
#include "common/spool_records.h"
#include "common/text.h"

/* Recording goes on or off, as of TIME (CLOCK_REALTIME, ns); REASON is written beside it. */
void recorder_switch(bool on, uint64_t time, const char *reason);

/* Notes what the process did while recording waits for something else: WHAT is SPOOL_SEEN_RANGE … */
void recorder_note_unrecorded(uint16_t what, struct gputrace_text text);

extern bool recorder_on;
/* Whether recording is on. */
static inline bool recorder_is_on(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_RELAXED);
}

/* Whether this process is recorded: the first call in a forked child starts the library there, by WAKE. errno stays. */
void recorder_init(bool (*wake)(void));
bool recorder_has_process(void);

/* Records a message to the user. The tool puts it into the trace, and prints a warning when it makes the trace. */
void recorder_note(uint16_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Records a message that the user may want to read while the program runs, and prints it now if that is possible. */
void recorder_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * What plugins, and the program through its host, add to the spool. The number of a client is the registry's: 1 is the
 * program, plugins follow from 2. Texts that are too long are cut, and the loss is counted.
 */

/* Once for each client and spool, before any other record of it. */
void plugin_record_client(uint32_t client, const char *name);

/* A slice, an instant, a counter's value: WHAT is SPOOL_PLUGIN_SLICE …. Texts may be NULL. */
struct plugin_event {
    uint16_t what;
    uint32_t client;
    uint64_t start, end; /* ns; END of a slice alone */
    double value;        /* of a counter */
    const char *name, *detail;
};
void plugin_record_event(const struct plugin_event *event);

/*
 * The crash chunk: a chunk of the spool that is kept ready for a crashing thread, which cannot ask for one.
 *
 * It begins with a table of open driver calls, each a record that is reused for one call after another. The records of
 * the crashing thread follow.
 */

#define CRASH_CHUNK_CALLS 256u /* open at once; more are left out */
#define CRASH_CHUNK_BYTES (2 * RECORDS_CHUNK_BYTES)

/* Takes the chunk, once for a spool; where the spool is full the rest does nothing. Returns 0 or -1. */
int crash_chunk_open(void);

/* Subscribes to open calls, if TRACE_BITS ask for it. Returns 0, or -1: no memory. */
int crash_chunk_subscribe(uint64_t trace_bits);

/* Space for a record of TYPE and BYTES that is the last in the chunk, its head filled in, the rest zero; NULL: there is
 * none. crash_chunk_commit() makes it visible. Async-signal-safe, for one thread at a time. */
void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time);
void crash_chunk_commit(const struct spool_record *record);

/* In a forked child: the chunk is the parent's. */
void crash_chunk_atfork_child(void);

#endif
