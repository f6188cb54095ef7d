/*
 * CUPTI's activity records: which kinds are enabled, and the buffers they are written to.
 *
 * The program's threads ask the tool for a buffer when they have none (one each, or one for all), and write into it.
 * The record of work that has only been launched takes its place at once, with the top bit of its kind set and without
 * times; it is completed there when the work ends. A buffer is handed back by a thread of this file once it is full and
 * all in it is complete, or by a flush. The tool gets either with no lock held.
 */
#ifndef SIMGPU_CORE_ACTIVITY_H
#define SIMGPU_CORE_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#define ACTIVITY_INCOMPLETE UINT32_C(0x80000000) /* in a record's kind: its work has not ended */

struct activity_buffer;

/* The place of a record whose work has not ended. Zeroed: none. */
struct activity_slot {
    struct activity_buffer *buffer;
    size_t offset;
};

/* Bytes of a record of KIND in the version of CUPTI that is simulated; 0 for kinds that are never written. */
size_t activity_size(CUpti_ActivityKind kind);
/* How many of these the headers know; the others are zero. */
size_t activity_bytes_known(CUpti_ActivityKind kind);

/* False when KIND does not exist. CONTEXT_ID 0 stands for all contexts. */
bool activity_enable(CUpti_ActivityKind kind, uint32_t context_id, bool enable);
bool activity_wanted(CUpti_ActivityKind kind, uint32_t context_id);

/* Puts a copy of RECORD into a buffer, or counts it as dropped. */
void activity_write(const void *record);
/* The same, incomplete. The slot has to be given to activity_complete or activity_abandon. */
struct activity_slot activity_begin(const void *record);
/* Fills in the times (ns) of the record and makes it complete. An empty slot is left alone. */
void activity_complete(struct activity_slot *slot, uint64_t start, uint64_t end);

void activity_register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
/* Hands over every buffer in which all is complete; when FORCED the others too, whose open records keep end = 0. */
void activity_flush(bool forced);
/* How many records were dropped since the last time this was asked. */
size_t activity_dropped(void);
/* The next complete record behind *RECORD, or the first for NULL. False when there is no more. */
bool activity_next(uint8_t *buffer, size_t valid, CUpti_Activity **record);

void activity_set_per_thread(bool per_thread); /* a buffer for each thread (so since 13.0) or one for all */
bool activity_per_thread(void);
void activity_set_zeroed(bool zeroed); /* the tool's buffers come zeroed: they are not cleared again */
bool activity_zeroed(void);

/* Around fork, so that no other thread has the buffers in its hands. */
void activity_lock(void);
void activity_unlock(void);

#endif
