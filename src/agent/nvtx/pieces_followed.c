#include "common/utf8.h"
#include "agent/nvtx/pieces_taking.h"
#include "agent/nvtx/program_memory.h"

static bool is_there(const struct nvtx_taking *taking, uint64_t address)
{
    for (size_t i = 0; i < taking->reader.blob_count; i++)
        if (address - (uintptr_t)taking->blobs[i].bytes < taking->blobs[i].size)
            return true;
    for (size_t i = 0; i < taking->told_count; i++)
        if (taking->told[i] == address)
            return true;
    return false;
}

/* Whether what lies at ADDRESS is to be told now. */
static bool is_new(struct nvtx_taking *taking, uint64_t address)
{
    if (address == 0 || is_there(taking, address))
        return false;
    if (taking->told_count == NVTX_PIECES_MAX) {
        taking->lost++;
        return false;
    }
    taking->told[taking->told_count++] = address;
    return true;
}

/* --- what an event is about --- */

static void set_message(struct nvtx_taking *taking, struct gputrace_text text, uint32_t string)
{
    taking->event->message = text;
    taking->event->string = string;
}

static void take_text(struct nvtx_taking *taking, const void *bytes, uint64_t count, uint64_t width)
{
    if (width == 1)
        set_message(taking, (struct gputrace_text){bytes, (uint32_t)count}, 0);
    else if (taking->room)
        set_message(taking,
                    (struct gputrace_text){taking->room->wide,
                                           (uint32_t)utf8_from_units(taking->room->wide, sizeof(taking->room->wide),
                                                                     bytes, (size_t)count, (size_t)width)},
                    0);
}

static void take_attribute(struct nvtx_taking *taking, const struct payload_field *field, const uint8_t *bytes)
{
    enum payload_value value = field->nested ? PAYLOAD_NONE : payload_value_of(field->entry->type);
    if (!taking->event || field->count == 0)
        return;
    if (field->form == PAYLOAD_TEXT && (field->entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE)) {
        take_text(taking, bytes, payload_text_length(bytes, field->count * field->unit, field->unit), field->unit);
    } else if (field->form == PAYLOAD_ONE && value == PAYLOAD_CATEGORY) {
        taking->event->category = (uint32_t)payload_load(bytes, 4);
    } else if (field->form == PAYLOAD_ONE && value == PAYLOAD_COLOR) {
        taking->event->color = (uint32_t)payload_load(bytes, 4);
        taking->event->color_type = NVTX_COLOR_ARGB;
    }
}

/* --- following --- */

/* Handles of registered strings that were looked at before: they live as long as the process. */
#define TRUSTED 16u
static __thread uint64_t trusted[TRUSTED];

static const struct nvtx_string *string_at(uint64_t handle)
{
    const struct nvtx_string *string = (const struct nvtx_string *)(uintptr_t)handle;
    uint64_t *seen = &trusted[handle / sizeof(*string) % TRUSTED];
    if (*seen == handle)
        return string;
    if (handle % _Alignof(struct nvtx_string) != 0 || program_readable(handle, sizeof(*string)) < sizeof(*string) ||
        string->mark != nvtx_string_mark(string))
        return NULL;
    *seen = handle;
    return string;
}

static void follow_handle(struct nvtx_taking *taking, const struct payload_entry *entry, uint64_t handle)
{
    const struct nvtx_string *string = handle ? string_at(handle) : NULL;
    if (!string)
        return;
    if (taking->event && (entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE))
        set_message(taking, string->text, string->number);
    if (is_new(taking, handle))
        nvtx_taking_tell(taking, &(struct spool_nvtx_piece){.address = handle, .size = string->text.length},
                         SPOOL_NVTX_PIECE_STRING, string->text.bytes, string->text.length);
}

static void follow_all(struct nvtx_taking *taking, const struct payload_schema *schema, const uint8_t *bytes,
                       uint64_t size, uint64_t start, unsigned depth);

static uint64_t bytes_behind(const struct payload_field *field, uint64_t limit)
{
    if (field->form == PAYLOAD_TEXT && field->count == PAYLOAD_TERMINATED) {
        uint64_t length = program_text_length(field->address, (size_t)field->unit, (size_t)limit);
        return length * field->unit;
    }
    uint64_t wanted = field->unit == 0 || field->count > limit / field->unit ? limit : field->count * field->unit;
    return program_readable(field->address, (size_t)wanted);
}

/* Each element costs, also one that has no fields: how many there are is what the program says. */
static bool may_go_on(struct nvtx_taking *taking)
{
    if (taking->reader.budget == 0)
        return false;
    taking->reader.budget--;
    return true;
}

static void follow_pointer(struct nvtx_taking *taking, struct payload_field *field, unsigned depth)
{
    bool text = field->form == PAYLOAD_TEXT || field->form == PAYLOAD_TEXTS_OF;
    if (field->address == 0 || (!text && !(field->entry->flags & PAYLOAD_FLAG_DEEP_COPY)))
        return;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)field->address;
    uint64_t there = bytes_behind(field, SPOOL_NVTX_TEXT_MAX), count = field->count;
    uint64_t taken = payload_found(field, bytes, there);
    uint64_t size = count == PAYLOAD_TERMINATED ? taken : field->unit * count;
    taken = field->form == PAYLOAD_TEXT ? field->count * field->unit : taken;
    take_attribute(taking, field, bytes);
    if (!is_new(taking, field->address))
        return;
    nvtx_taking_tell(taking,
                     &(struct spool_nvtx_piece){.address = field->address, .schema = field->entry->type, .size = size},
                     SPOOL_NVTX_PIECE_POINTED, bytes, taken);
    for (uint64_t i = 0; field->nested && field->nested->walks && i < field->count && may_go_on(taking); i++)
        follow_all(taking, field->nested, bytes, taken, i * field->unit, depth + 1);
}

static void follow(struct nvtx_taking *taking, const struct payload_cursor *cursor, struct payload_field *field,
                   unsigned depth)
{
    const uint8_t *bytes = cursor->bytes + field->at;
    if (field->pointer) {
        follow_pointer(taking, field, depth);
        return;
    }
    if (field->nested) {
        for (uint64_t i = 0;
             field->nested->walks && field->form != PAYLOAD_TEXT && i < field->count && may_go_on(taking); i++)
            follow_all(taking, field->nested, cursor->bytes, cursor->size, field->at + i * field->unit, depth + 1);
        return;
    }
    if (payload_value_of(field->entry->type) == PAYLOAD_HANDLE)
        for (uint64_t i = 0; i < field->count && i < NVTX_PIECES_MAX; i++)
            follow_handle(taking, field->entry, payload_load(bytes + i * field->unit, sizeof(uint64_t)));
    else
        take_attribute(taking, field, bytes);
}

static void follow_all(struct nvtx_taking *taking, const struct payload_schema *schema, const uint8_t *bytes,
                       uint64_t size, uint64_t start, unsigned depth)
{
    struct payload_cursor cursor;
    struct payload_field field;
    if (!bytes || depth >= PAYLOAD_DEPTH || start > size || schema->kind == PAYLOAD_ENUM)
        return;
    payload_begin(&cursor, &taking->reader, schema, bytes, size, start);
    while (payload_next(&cursor, &field))
        follow(taking, &cursor, &field, depth);
}

void nvtx_taking_follow(struct nvtx_taking *taking, const struct payload_schema *schema, const uint8_t *bytes,
                        uint64_t size, uint64_t start)
{
    follow_all(taking, schema, bytes, size, start, 0);
}
