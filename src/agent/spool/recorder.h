/*
 * The recorder: subscribers that write events of CUDA and NVTX into the spool, switching of recording, notes to the
 * user, and the records of plugins.
 *
 * Names, contexts, streams, memory and phases are always written, because the trace cannot be read without them. NVTX
 * events and synchronisation are written only while recording is on. With TRACE_EVENT but without TRACE_SYNC no record
 * of CUDA events is written: CUPTI records their calls.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORDER_H
#define GPUTRACE_AGENT_SPOOL_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/writer.h"
#include "common/settings.h"
#include "common/spool.h"
#include "common/spool_records.h"

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

/* --- CUDA --- */

/* Subscribes to the CUDA events that TRACE_BITS ask for. Returns 0, or -1 if there is no memory. */
int record_cuda_subscribe(uint64_t trace_bits);
/* Subscribes to events of graph nodes, for traces with a record per node. Returns 0, or -1 if there is no memory. */
int record_cuda_subscribe_graph_nodes(void);

/* --- NVTX --- */

int record_nvtx_subscribe(void);

/* Records an NVTX event that happens now and has only a message. The registry calls this as its shortcut. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* In a forked child: resets the lock, which another thread may have held. */
void record_nvtx_atfork_child(void);

#endif
