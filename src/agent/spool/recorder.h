/*
 * The recorder: subscribers that write events into the spool. record_cuda.c writes those of CUDA, record_nvtx.c those
 * of NVTX; here are recording on and off, notes to the user and the records of plugins.
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

#include "agent/dispatch/events.h"
#include "agent/spool/spool_file.h"
#include "agent/spool/writer.h"
#include "common/spool.h"
#include "common/spool_records.h"

/* Recording goes on or off, as of TIME (CLOCK_REALTIME, ns); REASON is written beside it. */
void recorder_switch(bool on, uint64_t time, const char *reason);

/* Notes what the process did while recording waits for something else: WHAT is SPOOL_SEEN_RANGE … */
void recorder_seen(uint16_t what, struct gputrace_text text);

extern bool recorder_on;
/* Whether recording is on. */
static inline bool recorder_is_on(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_RELAXED);
}

/* A word to the user that belongs in the trace; a warning is printed by the tool when it makes that. */
void recorder_note(uint16_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, printed now if there is a way to the user: what he may want to know while the program runs. */
void recorder_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- what is written of CUDA (record_cuda.c) and NVTX (record_nvtx.c) --- */

/* Each subscribes to what TRACE_BITS ask for. Returns 0, or -1 without memory. */
int record_cuda_subscribe(uint64_t trace_bits);
/* Also to what the nodes of graphs launch, where CUPTI writes one record per node. */
int record_cuda_subscribe_graph_nodes(void);
int record_nvtx_subscribe(void);

/* Whether allocations and failed allocations keep their call stacks; off by default. stacks_prepare() comes first. */
void record_cuda_keep_stacks(bool on);

/* The registry's shortcut: an NVTX event that happens now and has nothing but a message. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* In a forked child: another thread may have held the lock. */
void record_nvtx_atfork_child(void);

/* --- records that end with a text --- */

static inline uint32_t record_text_kept(uint32_t length)
{
    return length < WRITER_TEXT_MAX ? length : WRITER_TEXT_MAX;
}

/* What is kept of a text of LENGTH; a loss is counted. */
static inline uint32_t record_text_cut(uint32_t length)
{
    if (length > WRITER_TEXT_MAX)
        __atomic_add_fetch(&spool_file_header()->losses.cut_texts, 1, __ATOMIC_RELAXED);
    return record_text_kept(length);
}

static inline void *record_begin(enum spool_record_type type, uint64_t time, size_t size, size_t room,
                                 struct gputrace_text text)
{
    uint32_t bytes = spool_record_bytes((uint32_t)size, (uint32_t)room, record_text_cut(text.length));
    return writer_begin_text(type, (uint32_t)size, bytes, time);
}

static inline void record_put_text(char *room, uint32_t *length, struct gputrace_text text)
{
    *length = record_text_kept(text.length);
    if (*length > 0)
        memcpy(room, text.bytes, *length);
}

/* Begins RECORD (a pointer to a struct that ends with `length` and `text`) with TEXT, cut where it is too long. Zero
 * when it cannot be recorded; else fill the rest and writer_commit(&RECORD->head). TEXT is looked at twice. */
#define record_begin_text(record, type, time, with_text)                                               \
    (((record) = record_begin((type), (time), sizeof(*(record)), sizeof((record)->text), (with_text))) \
         ? (record_put_text((record)->text, &(record)->length, (with_text)), 1)                        \
         : 0)

/*
 * What plugins, and the program through its host, add to the spool. The number of a client is the registry's: 1 is the
 * program, plugins follow from 2. Texts that are too long are cut, and the loss is counted.
 */

/* Once for each client and spool, before any other record of it. */
void plugin_record_client(uint32_t client, const char *name);

/* What the client's callbacks took so far. */
void plugin_record_time(uint32_t client, uint64_t calls, uint64_t ns);

/* A slice, an instant, a counter's value: WHAT is SPOOL_PLUGIN_SLICE …. Texts may be NULL. */
struct plugin_event {
    uint16_t what;
    uint32_t client;
    uint64_t start, end; /* ns; END of a slice alone */
    double value;        /* of a counter */
    const char *name, *detail;
};
void plugin_record_event(const struct plugin_event *event);

/* A line for the user; STACK (0: none) is the number of one that was recorded. */
void plugin_record_line(uint32_t client, uint32_t stack, const char *text);

#endif
