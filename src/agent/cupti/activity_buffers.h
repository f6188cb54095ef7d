/*
 * Lends CUPTI the buffers for activity records, and reads from the records what dies with the process: the names that
 * they point to, and the sizes of records, which the reader needs.
 */
#ifndef GPUTRACE_AGENT_CUPTI_ACTIVITY_BUFFERS_H
#define GPUTRACE_AGENT_CUPTI_ACTIVITY_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

struct cupti;
struct spool_header;

/* Asks CUPTI for the size of every kind's records, before it gets a buffer. CUPTI answers without a GPU (tried with
 * 11.8, 12.4 and 13.0). Sizes without an answer come from the table, or from complete buffers. */
void activity_walk_init(struct spool_header *header, const struct cupti *cupti);

/* Walks a complete buffer with CUPTI's own iterator: notes sizes, publishes new names and records of just-in-time
 * compilation. Returns whether the buffer has only records of API calls. */
bool activity_walk_complete(const struct cupti *cupti, struct spool_header *header, uint8_t *data, size_t valid);

/*
 * Walks a buffer that CUPTI is writing, from FROM on by known sizes, and publishes names; *WALKED is how far names have
 * been read. Returns the number of GPU records without times.
 */
unsigned activity_walk_in_use(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t from,
                              size_t *walked);

/*
 * CUPTI writes its records straight into chunks of the spool; nothing here copies a record. Only what dies with the
 * process is read: the texts behind name pointers, when a buffer is complete and, by activity_buffers_gather(), while
 * it is in use. Records of just-in-time compilation are published when their buffer is complete. activity_kinds.c
 * decides which kinds CUPTI records.
 */

/* The source of buffers: chunks of the spool (library.c). */
struct activity_store {
    struct spool_header *(*header)(void); /* for record sizes and losses */
    void *(*get)(size_t *bytes);          /* zeroed, 64-byte aligned; NULL: CUPTI drops and counts records */
    void (*done)(void *space, size_t used);
};

/* Starts lending buffers to CUPTI, and enables what must be on from the start (activity_kinds_init()). Called once per
 * process, before the first context. Returns 0, or -1 with WHY filled in. */
int activity_buffers_init(const struct cupti *cupti, const struct activity_store *store, uint64_t trace_bits, char *why,
                          size_t size);

/* Sets whether records of API calls are kept. While recording is off they are discarded. */
void activity_buffers_keep(bool keep);

/* Makes CUPTI collect times that the GPU has delivered, and return complete buffers. Must not be called from a CUPTI
 * callback. */
void activity_buffers_flush(void);

/* Reads names out of the buffers in use, if NAMES_ALONE only out of new records. Returns how many of the GPU records
 * that were read have no times yet. */
unsigned activity_buffers_gather(bool names_alone);

/* Reads names out of new records. Callable from any thread, also within a CUPTI callback. Does nothing and returns
 * false within a callback of a client, where nothing can be published. */
bool activity_buffers_gather_names(void);

/* Reads names out of new records before code is unloaded, and the names of its kernels with it. Callable from any
 * thread, also within a CUPTI callback. */
void activity_buffers_unloading(void);

/* For a crashing thread: calls PUBLISH with each name in buffer number I that may not have been published. Returns
 * false if there are no more buffers. Takes no lock. The caller must be prepared for a fault, and PUBLISH may not
 * return. */
bool activity_buffers_crash_names(unsigned i, void (*publish)(const char *name));

/* Stops calling CUPTI, which was detached from the process: a call would attach it again, and what its records point to
 * may be gone. */
void activity_buffers_detached(void);

/* In a forked child: forgets all buffers, without calling CUPTI. */
void activity_buffers_atfork_child(void);

#endif
