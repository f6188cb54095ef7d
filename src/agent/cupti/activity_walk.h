/*
 * A walk through CUPTI's records for what dies with the process: names that they point to, and the sizes that the
 * reader will need.
 */
#ifndef GPUTRACE_AGENT_CUPTI_ACTIVITY_WALK_H
#define GPUTRACE_AGENT_CUPTI_ACTIVITY_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cupti;
struct spool_header;

/* Asks CUPTI for the size of every kind's records, before it gets a buffer. It answers without a GPU (tried with 11.8,
 * 12.4 and 13.0). Sizes without an answer are those of the table, or learnt from complete buffers. */
void activity_walk_init(struct spool_header *header, const struct cupti *cupti);

/* Walks a complete buffer with CUPTI's own iterator; learns sizes, publishes names not seen before and what was
 * compiled just in time. Returns whether it holds API calls alone. */
bool activity_walk_complete(const struct cupti *cupti, struct spool_header *header, uint8_t *data, size_t valid);

/*
 * Walks a buffer that CUPTI is writing, by known sizes, for names; *WALKED is how far names have been read.
 * Gives the number of GPU records without times.
 */
unsigned activity_walk_in_use(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t *walked);

/* The same for names alone, from *WALKED on. */
void activity_walk_names(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t *walked);

/*
 * For a thread that dies: gives TELL the names that records from WALKED on point to, told before or not, and reads none
 * of them. Takes no lock, so BYTES at DATA may change or go away meanwhile; the caller is prepared for a fault.
 */
void activity_walk_dying(const struct spool_header *header, const uint8_t *data, size_t bytes, size_t walked,
                         void (*tell)(const char *name));

#endif
