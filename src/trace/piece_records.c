/*
 * Puts texts and metadata of a piece into records.
 */
#include "trace/piece_records.h"

#include <errno.h>
#include <string.h>

#include "trace/event_fields.h"

void record_put(struct buffer *records, enum record_kind kind, const void *data, size_t size)
{
    struct record record = {kind, (uint32_t)size};
    char *at = buffer_reserve(records, sizeof(record) + size);
    if (!at)
        return;
    memcpy(at, &record, sizeof(record));
    if (size > 0)
        memcpy(at + sizeof(record), data, size);
    buffer_advance(records, sizeof(record) + size);
}

/* As JSON would give it: valid UTF-8, up to its first NUL. */
static void put_text(struct buffer *records, const char *text, size_t length)
{
    struct buffer clean;
    buffer_init_memory(&clean);
    length = strnlen(text, length);
    text = buffer_valid_text(&clean, text, &length);
    record_put(records, RECORD_TEXT, text, length);
    records->failure = records->failure ? records->failure : clean.failure;
    buffer_release(&clean);
}

void record_fail(struct buffer *records)
{
    records->failure = records->failure ? records->failure : ENOMEM;
}

void record_texts_write(struct record_texts *texts, struct buffer *records)
{
    for (; texts->written < texts->texts.count; texts->written++) {
        const struct interned *text = interner_at(&texts->texts, texts->written);
        put_text(records, text->text, text->length);
    }
}

uint32_t record_texts_put(struct record_texts *texts, struct buffer *records, const char *text, size_t length)
{
    uint32_t number = intern(&texts->texts, length ? text : "", length);
    if (number == INTERN_NO_MEMORY) {
        record_fail(records);
        return EVENT_NO_TEXT;
    }
    record_texts_write(texts, records);
    return number;
}

void record_put_metadata(struct buffer *records, const char *key, const char *value, size_t size)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_bytes(&text, key, strlen(key) + 1);
    buffer_bytes(&text, value, size);
    record_put(records, RECORD_METADATA, text.data, text.length);
    records->failure = records->failure ? records->failure : text.failure;
    buffer_release(&text);
}
