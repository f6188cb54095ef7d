/*
 * Gives CUPTI the buffers that it writes activity records to, and walks through them for what dies with the process:
 * the names that records point to, and the sizes of records, which the reader needs.
 */
#ifndef GPUTRACE_AGENT_CUPTI_ACTIVITY_BUFFERS_H
#define GPUTRACE_AGENT_CUPTI_ACTIVITY_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

struct cupti;
struct spool_header;

/* Asks CUPTI for the size of every kind's records, before it gets a buffer. It answers without a GPU (tried with 11.8,
 * 12.4 and 13.0). Sizes without an answer are those of the table, or found in complete buffers. */
void activity_walk_init(struct spool_header *header, const struct cupti *cupti);

/* Walks a complete buffer with CUPTI's own iterator; notes sizes, publishes names not seen before and what was
 * compiled just in time. Returns whether it holds API calls alone. */
bool activity_walk_complete(const struct cupti *cupti, struct spool_header *header, uint8_t *data, size_t valid);

/*
 * Walks a buffer that CUPTI is writing from FROM on, by known sizes, for names; *WALKED is how far names have been
 * read. Returns the number of GPU records without times.
 */
unsigned activity_walk_in_use(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t from,
                              size_t *walked);

/*
 * CUPTI writes its records straight into chunks of the spool; nothing here copies a record. What is read is only what
 * dies with the process: the texts behind name pointers, when a buffer is complete and, by activity_buffers_gather(),
 * while it is in use. Records of just-in-time compilation are published when their buffer is complete. activity_kinds.h
 * decides which kinds CUPTI records.
 */

/* Where buffers come from and go to: the recorder's chunks (library.c). */
struct activity_store {
    struct spool_header *(*header)(void); /* for record sizes and losses */
    void *(*get)(size_t *bytes);          /* zeroed space, 64-byte aligned; NULL: none, CUPTI drops and counts */
    void (*done)(void *space, size_t used);
};

/* Gives CUPTI its buffers, and switches on what must be on from the start (activity_kinds_init()). Once per process,
 * before the first context. Returns 0, or -1 with WHY filled. */
int activity_buffers_init(const struct cupti *cupti, const struct activity_store *store, uint64_t trace_bits, char *why,
                          size_t size);

/* Whether records of API calls are kept. While nothing is recorded they are thrown away. */
void activity_buffers_keep(bool keep);

/* Collects times that the GPU has delivered; hands complete buffers over. Never from a CUPTI callback. */
void activity_buffers_flush(void);

/* Reads names out of the buffers in use; NAMES_ALONE: out of new records. Returns how many GPU records of those that were
 * read have no times yet. */
unsigned activity_buffers_gather(bool names_alone);

/* Reads names out of new records. From any thread, also within a CUPTI callback. Within a callback of a client, where
 * nothing can be published, it does nothing and returns false. */
bool activity_buffers_gather_names(void);

/* Code is about to be unloaded, and the names of its kernels with it. As above. */
void activity_buffers_unloading(void);

/* For a crashing thread: calls PUBLISH with each name in buffer number I that may not have been published. Returns
 * false when there are no more buffers. Takes no lock; the caller is prepared for a fault, and for PUBLISH not to
 * return. */
bool activity_buffers_crash_names(unsigned i, void (*publish)(const char *name));

/* CUPTI was detached from the process. It is not called any more: that would attach it again, and what its records
 * point to may be gone. */
void activity_buffers_detached(void);

/* In a forked child: forgets everything, calls nothing. */
void activity_buffers_atfork_child(void);

#endif
