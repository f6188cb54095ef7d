/*
 * Each thread's own records: the way from a happening to bytes that survive the process.
 *
 *     struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), clock_now());
 *     if (record) { ...fill...; writer_commit(&record->head); }
 *
 * A thread writes into its own chunk without a lock; a record becomes visible as a whole. A signal handler that comes
 * between begin and commit of its own thread is turned away, and the loss is counted.
 */
#ifndef GPUTRACE_INJECTED_RECORD_WRITER_H
#define GPUTRACE_INJECTED_RECORD_WRITER_H

#include <stdint.h>

#include "wire/spool.h"

/* Texts longer than this are cut: 16 KiB name anything. */
#define WRITER_TEXT_MAX (UINT32_C(16) << 10)

/* Room for a record of BYTES at TIME (CLOCK_REALTIME, ns), zeroed but for its head; NULL: not recorded, and counted. */
void *writer_begin(enum spool_record_type type, uint32_t bytes, uint64_t time);

/* Makes the record last begun by this thread visible. */
void writer_commit(struct spool_record *record);

/* This thread's gettid(), without a system call but for the first time. */
uint32_t writer_thread(void);

#endif
