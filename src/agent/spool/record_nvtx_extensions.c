#include "agent/spool/record_nvtx_extensions.h"

#include "agent/spool/record_text.h"
#include "agent/spool/recorder.h"
#include "agent/dispatch/registry.h"

static_assert(SPOOL_NVTX_TEXT_MAX == WRITER_TEXT_MAX, "collectors know where a text is cut");

/* What each record of an extension ends with. */
struct tail {
    uint32_t length;
    char text[4];
};
#define TYPE(name, structure, holds) \
    static_assert(offsetof(struct structure, length) == sizeof(struct structure) - sizeof(struct tail), #name);
SPOOL_NVTX_EXTENSION_TYPES(TYPE)
#undef TYPE

static void record_extension(void *data, const struct gputrace_nvtx_extension *what)
{
    (void)data;
    if (!what->always && !recorder_is_on())
        return;
    uint32_t first = record_text_cut(what->text.length), second = record_text_cut(what->more.length);
    uint32_t bytes = spool_record_bytes(what->bytes, sizeof(((struct tail *)0)->text), first + second);
    struct spool_record *record = writer_begin(what->type, bytes, what->time);
    if (!record)
        return;
    memcpy(record + 1, (const struct spool_record *)what->record + 1, what->bytes - sizeof(*record));
    record->flags = what->flags;
    struct tail *tail = (struct tail *)(void *)((char *)record + what->bytes - sizeof(*tail));
    tail->length = first + second;
    if (first > 0)
        memcpy(tail->text, what->text.bytes, first);
    if (second > 0)
        memcpy(tail->text + first, what->more.bytes, second);
    writer_commit(record);
}

int record_nvtx_extensions_subscribe(void)
{
    return registry_nvtx_extension_register(record_extension, NULL);
}
