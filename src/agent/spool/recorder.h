/*
 * The recorder: subscribers that write events into the spool. record_events.c has the subscribers for CUDA and NVTX;
 * here are switching of recording, notes to the user, the records of plugins, and the chunk for a crash.
 *
 * Names, contexts, streams, memory and phases are always written, because the trace cannot be read without them. NVTX
 * events and synchronisation are written only while recording is on. With TRACE_EVENT but without TRACE_SYNC no record
 * of CUDA events is written: CUPTI records their calls.
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

/* Turns recording on or off, as of TIME (CLOCK_REALTIME, ns), and writes REASON to the spool. */
void recorder_switch(bool on, uint64_t time, const char *reason);

/* Records what the process did before the requested range came: WHAT is a SPOOL_SEEN value. */
void recorder_note_unrecorded(uint16_t what, struct gputrace_text text);

extern bool recorder_on;
static inline bool recorder_is_on(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_RELAXED);
}

/* Whether this process is recorded. In a forked child the first call starts the library by calling WAKE. Preserves
 * errno. */
void recorder_init(bool (*wake)(void));
bool recorder_has_process(void);

/* Records a message to the user. The tool puts the message into the trace, and prints a warning when it makes the
 * trace. */
void recorder_note(uint16_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Records a warning that the user may want to read while the program runs, and prints it now if possible. */
void recorder_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Records of plugins, and of the program through its host. CLIENT is the registry's number of a client: 1 is the
 * program, plugins follow from 2. Texts that are too long are cut, and the loss is counted.
 */

/* Records the name of a client. Called once for each client and spool, before any other record of the client. */
void plugin_record_client(uint32_t client, const char *name);

/* A slice, an instant or a counter's value; WHAT is a SPOOL_PLUGIN value. Texts may be NULL. */
struct plugin_event {
    uint16_t what;
    uint32_t client;
    uint64_t start, end; /* ns; only slices have an end */
    double value;        /* value of a counter */
    const char *name, *detail;
};
void plugin_record_event(const struct plugin_event *event);

/*
 * The crash chunk: a chunk of the spool that is kept ready for a crashing thread, which cannot ask for one.
 *
 * It begins with a table of open driver calls, each a record that is reused for one call after another. The records of
 * the crashing thread follow.
 */

#define CRASH_CHUNK_CALLS 256u /* maximum of open calls in the table; more are left out */
#define CRASH_CHUNK_BYTES (2 * RECORDS_CHUNK_BYTES)

/* Gets the chunk, once for a spool. Returns 0, or -1 if the spool is full; then the other functions do nothing. */
int crash_chunk_open(void);

/* Subscribes to open calls if TRACE_BITS ask for them. Returns 0, or -1 if there is no memory. */
int crash_chunk_subscribe(uint64_t trace_bits);

/* Returns space for the chunk's next record, of TYPE and BYTES, with its head filled in and the rest zero, or NULL if
 * there is no space. crash_chunk_commit() makes the record visible. Async-signal-safe, for one thread at a time. */
void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time);
void crash_chunk_commit(const struct spool_record *record);

/* In a forked child: forgets the chunk, which is the parent's. */
void crash_chunk_atfork_child(void);

#endif
