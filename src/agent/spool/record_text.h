/*
 * Records that end with a text: begun, with the text copied, in one line.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_TEXT_H
#define GPUTRACE_AGENT_SPOOL_RECORD_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/spool/spool_file.h"
#include "agent/spool/writer.h"
#include "agent/dispatch/text.h"

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

#endif
