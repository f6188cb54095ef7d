/*
 * Copies the payloads of an NVTX event byte for byte into the spool, and follows their pointers by the registered
 * schemas to copy their targets. Memory is read only where that is possible, within limits on size and depth.
 */

#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/text.h"

#define COPIES_MAX 64 /* maximum of pointer targets for one event; more are counted as lost */

/* The payloads of one event while they are copied. */
struct payload_copy {
    uint64_t number, time;
    uint32_t domain;
    struct gputrace_nvtx *event; /* NULL if attributes in the payloads do not matter */
    struct nvtx_text *text;
    struct payload_reader reader;
    struct payload_blob blobs[PAYLOAD_BLOBS_MAX];
    uint64_t published[COPIES_MAX]; /* addresses of copied pointer targets */
    size_t published_count;
    uint64_t lost;
};

/* Publishes a copy of THERE bytes, and fills in its number and domain. */
static void publish_copy(const struct payload_copy *copy, struct spool_nvtx_piece *piece,
                         enum spool_nvtx_piece_kind kind, const void *bytes, uint64_t there)
{
    piece->number = copy->number;
    piece->domain = copy->domain;
    nvtx_publish(NVTX_RECORD(PIECE, piece, .flags = (uint16_t)kind, .time = copy->time,
                             .text = {bytes, there < UINT32_MAX ? (uint32_t)there : UINT32_MAX}));
}

/* Whether the target at ADDRESS must be copied now, because no copy of the event contains it. Remembers the address. */
static bool is_new(struct payload_copy *copy, uint64_t address)
{
    for (size_t i = 0; i < copy->reader.blob_count; i++)
        if (address - (uintptr_t)copy->blobs[i].bytes < copy->blobs[i].size)
            return false;
    for (size_t i = 0; i < copy->published_count; i++)
        if (copy->published[i] == address)
            return false;
    if (address == 0 || copy->published_count == COPIES_MAX) {
        copy->lost += address != 0;
        return false;
    }
    copy->published[copy->published_count++] = address;
    return true;
}

/* Sets message, category or colour of the event if the field has that meaning. */
static void read_attribute(struct payload_copy *copy, const struct payload_field *field, const uint8_t *bytes)
{
    enum payload_value value = field->nested ? PAYLOAD_NONE : payload_value_of(field->entry->type);
    struct gputrace_nvtx *event = copy->event;
    if (!event || field->count == 0)
        return;
    if (field->form == PAYLOAD_TEXT && (field->entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE)) {
        size_t width = (size_t)field->unit;
        size_t count = (size_t)payload_text_length(bytes, field->count * width, width);
        char *wide = width > 1 && copy->text ? copy->text->wide : NULL;
        if (width > 1 && !wide)
            return;
        event->message = wide ? text_of_bytes(wide, utf8_from_units(wide, NVTX_WIDE_BYTES, bytes, count, width))
                              : text_of_bytes((const char *)bytes, count);
        event->string = 0;
    } else if (field->form == PAYLOAD_ONE && value == PAYLOAD_CATEGORY) {
        event->category = (uint32_t)payload_load(bytes, 4);
    } else if (field->form == PAYLOAD_ONE && value == PAYLOAD_COLOR) {
        event->color = (uint32_t)payload_load(bytes, 4);
        event->color_type = NVTX_COLOR_ARGB;
    }
}

/* --- following pointers --- */

/* Handles of registered strings that were checked before. The strings live as long as the process. */
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

static void follow_handle(struct payload_copy *copy, const struct payload_entry *entry, uint64_t handle)
{
    const struct nvtx_string *string = handle ? string_at(handle) : NULL;
    if (!string)
        return;
    if (copy->event && (entry->flags & PAYLOAD_FLAG_EVENT_MESSAGE)) {
        copy->event->message = string->text;
        copy->event->string = string->number;
    }
    if (is_new(copy, handle))
        publish_copy(copy, &(struct spool_nvtx_piece){.address = handle, .size = string->text.length},
                     SPOOL_NVTX_PIECE_STRING, string->text.bytes, string->text.length);
}

static void follow_all(struct payload_copy *copy, const struct payload_schema *schema, const uint8_t *bytes,
                       uint64_t size, uint64_t start, unsigned depth);

/* Follows the nested fields of each element of FIELD; the first element is at START of BYTES. Each element costs
 * budget, even without fields, because the program chooses their number. */
static void follow_nested(struct payload_copy *copy, const struct payload_field *field, const uint8_t *bytes,
                          uint64_t size, uint64_t start, unsigned depth)
{
    for (uint64_t i = 0; field->nested->walks && i < field->count && copy->reader.budget > 0; i++) {
        copy->reader.budget--;
        follow_all(copy, field->nested, bytes, size, start + i * field->unit, depth + 1);
    }
}

static uint64_t bytes_behind(const struct payload_field *field, uint64_t limit)
{
    if (field->form == PAYLOAD_TEXT && field->count == PAYLOAD_TERMINATED) {
        uint64_t length = program_text_length(field->address, (size_t)field->unit, (size_t)limit);
        return length * field->unit;
    }
    uint64_t wanted = field->unit == 0 || field->count > limit / field->unit ? limit : field->count * field->unit;
    return program_readable(field->address, (size_t)wanted);
}

static void follow_pointer(struct payload_copy *copy, struct payload_field *field, unsigned depth)
{
    bool text = field->form == PAYLOAD_TEXT || field->form == PAYLOAD_TEXTS_OF;
    if (field->address == 0 || (!text && !(field->entry->flags & PAYLOAD_FLAG_DEEP_COPY)))
        return;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)field->address;
    uint64_t there = bytes_behind(field, SPOOL_NVTX_TEXT_MAX), count = field->count;
    uint64_t taken = payload_found(field, bytes, there);
    uint64_t size = count == PAYLOAD_TERMINATED ? taken : field->unit * count;
    taken = field->form == PAYLOAD_TEXT ? field->count * field->unit : taken;
    read_attribute(copy, field, bytes);
    if (!is_new(copy, field->address))
        return;
    publish_copy(copy,
                 &(struct spool_nvtx_piece){.address = field->address, .schema = field->entry->type, .size = size},
                 SPOOL_NVTX_PIECE_POINTED, bytes, taken);
    if (field->nested)
        follow_nested(copy, field, bytes, taken, 0, depth);
}

static void follow(struct payload_copy *copy, const struct payload_cursor *cursor, struct payload_field *field,
                   unsigned depth)
{
    const uint8_t *bytes = cursor->bytes + field->at;
    if (field->pointer) {
        follow_pointer(copy, field, depth);
    } else if (field->nested) {
        if (field->form != PAYLOAD_TEXT)
            follow_nested(copy, field, cursor->bytes, cursor->size, field->at, depth);
    } else if (payload_value_of(field->entry->type) == PAYLOAD_HANDLE) {
        for (uint64_t i = 0; i < field->count && i < COPIES_MAX; i++)
            follow_handle(copy, field->entry, payload_load(bytes + i * field->unit, sizeof(uint64_t)));
    } else {
        read_attribute(copy, field, bytes);
    }
}

static void follow_all(struct payload_copy *copy, const struct payload_schema *schema, const uint8_t *bytes,
                       uint64_t size, uint64_t start, unsigned depth)
{
    struct payload_cursor cursor;
    struct payload_field field;
    if (!bytes || depth >= PAYLOAD_DEPTH || start > size || schema->kind == PAYLOAD_ENUM)
        return;
    payload_begin(&cursor, &copy->reader, schema, bytes, size, start);
    while (payload_next(&cursor, &field))
        follow(copy, &cursor, &field, depth);
}

/* --- payloads from the program --- */

#define BATCH_BUDGET (16u * PAYLOAD_BUDGET) /* fields walked in all events of a batch: the program waits meanwhile */

#define COUNT_MAX 4096u /* maximum number of payloads of an event, beyond which losses are not counted */

static const struct payload_schema *find_schema(const void *copy, uint64_t id)
{
    return nvtx_schema_find(((const struct payload_copy *)copy)->domain, id);
}

static void begin(struct payload_copy *copy, const struct nvtx_domain *domain, uint64_t time,
                  struct gputrace_nvtx *event, struct nvtx_text *text)
{
    static uint64_t last_number;
    copy->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    copy->time = time;
    copy->domain = domain->number;
    copy->event = event;
    copy->text = text;
    copy->reader =
        (struct payload_reader){.find = find_schema, .context = copy, .blobs = copy->blobs, .budget = PAYLOAD_BUDGET};
    copy->published_count = 0;
    copy->lost = 0;
}

uint64_t nvtx_payload_stride(const struct nvtx_domain *domain, uint64_t id)
{
    const struct payload_schema *schema = nvtx_schema_find(domain->number, id);
    if (schema)
        return schema->kind == PAYLOAD_DYNAMIC ? 0 : schema->size;
    return payload_value_of(id) == PAYLOAD_STRING ? 0 : payload_bytes_of(id);
}

/* Returns the size of a payload whose program did not pass the size (SIZE_MAX), or 0 if unknown. */
static uint64_t size_by_schema(struct payload_copy *copy, const struct payload_schema *schema,
                               const nvtxPayloadData_t *payload)
{
    uint64_t width = payload_bytes_of(payload->schemaId);
    if (schema && schema->kind == PAYLOAD_DYNAMIC) {
        uint64_t end = 0, readable_bytes = program_readable((uintptr_t)payload->payload, SPOOL_NVTX_TEXT_MAX);
        struct payload_cursor cursor;
        struct payload_field field;
        payload_begin(&cursor, &copy->reader, schema, payload->payload, readable_bytes, 0);
        while (payload_next(&cursor, &field))
            end = cursor.end > end ? cursor.end : end;
        return end;
    }
    if (schema)
        return schema->size;
    if (payload_value_of(payload->schemaId) == PAYLOAD_STRING)
        return program_text_length((uintptr_t)payload->payload, width, SPOOL_NVTX_TEXT_MAX) * width;
    return width;
}

/* Publishes payload INDEX, without following its pointers. */
static void copy_payload(struct payload_copy *copy, const nvtxPayloadData_t *payload, uint32_t index)
{
    const struct payload_schema *schema = find_schema(copy, payload->schemaId);
    struct payload_blob *blob = &copy->blobs[index];
    *blob = (struct payload_blob){.schema = payload->schemaId};
    if (payload->payload && payload->size != 0) {
        uint64_t size = payload->size == SIZE_MAX ? size_by_schema(copy, schema, payload) : payload->size;
        blob->bytes = payload->payload;
        /* Memory beyond the schema's size, or of a size not passed by the program, is checked. */
        uint64_t vouched = payload->size == SIZE_MAX ? 0 : schema ? schema->size : payload_bytes_of(payload->schemaId);
        uint64_t kept = size < SPOOL_NVTX_TEXT_MAX ? size : SPOOL_NVTX_TEXT_MAX;
        blob->size = kept <= vouched ? kept : program_readable((uintptr_t)payload->payload, (size_t)kept);
        publish_copy(
            copy,
            &(struct spool_nvtx_piece){
                .address = (uintptr_t)payload->payload, .schema = payload->schemaId, .size = size, .index = index},
            SPOOL_NVTX_PIECE_PAYLOAD, blob->bytes,
            size > blob->size && blob->size == SPOOL_NVTX_TEXT_MAX ? blob->size + 1 /* counts as cut */
                                                                   : blob->size);
    } else {
        publish_copy(copy, &(struct spool_nvtx_piece){.schema = payload->schemaId, .index = index},
                     SPOOL_NVTX_PIECE_PAYLOAD, NULL, 0);
    }
    copy->reader.blob_count = index + 1u;
}

static void finish(struct payload_copy *copy)
{
    if (copy->lost > 0)
        publish_copy(copy, &(struct spool_nvtx_piece){.size = copy->lost}, SPOOL_NVTX_PIECE_LOST, NULL, 0);
}

uint64_t nvtx_payloads_copy(const struct nvtx_domain *domain, uint64_t time, const nvtxPayloadData_t *payloads,
                            size_t count, struct gputrace_nvtx *event, struct nvtx_text *text)
{
    struct payload_copy copy;
    if (!payloads || count == 0)
        return 0;
    begin(&copy, domain, time, event, text);
    if (count > 1) /* a single payload is not checked */
        count = program_readable((uintptr_t)payloads, (count < COUNT_MAX ? count : COUNT_MAX) * sizeof(*payloads)) /
                sizeof(*payloads);
    for (uint32_t i = 0; i < count && i < PAYLOAD_BLOBS_MAX; i++)
        copy_payload(&copy, &payloads[i], i);
    copy.lost = count > PAYLOAD_BLOBS_MAX ? count - PAYLOAD_BLOBS_MAX : 0;
    for (size_t i = 0; i < copy.reader.blob_count; i++) {
        const struct payload_schema *schema = find_schema(&copy, copy.blobs[i].schema);
        if (schema && schema->walks)
            follow_all(&copy, schema, copy.blobs[i].bytes, copy.blobs[i].size, 0, 0);
    }
    finish(&copy);
    return copy.number;
}

uint64_t nvtx_payloads_copy_batch(const struct nvtx_domain *domain, uint64_t time, const struct payload_schema *schema,
                                  const nvtxPayloadData_t *events, size_t stride, const nvtxPayloadData_t *flexible)
{
    struct payload_copy copy;
    begin(&copy, domain, time, NULL, NULL);
    copy_payload(&copy, events, 0);
    if (flexible->payload && flexible->size > 0)
        copy_payload(&copy, flexible, 1);
    unsigned left = BATCH_BUDGET;
    for (uint64_t at = 0; schema->walks && left > 0 && at + stride <= copy.blobs[0].size; at += stride) {
        unsigned budget = left < PAYLOAD_BUDGET ? left : PAYLOAD_BUDGET;
        copy.reader.budget = budget;
        follow_all(&copy, schema, copy.blobs[0].bytes, copy.blobs[0].size, at, 0);
        left -= budget - copy.reader.budget;
    }
    copy.lost += left == 0;
    finish(&copy);
    return copy.number;
}

/* --- attributes of an event --- */

void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *text)
{
    if (!attributes)
        return;
    if (NVTX_HAS(attributes, category))
        event->category = attributes->category;
    if (NVTX_HAS(attributes, color)) {
        event->color_type = (uint16_t)attributes->colorType;
        event->color = attributes->color;
    }
    if (NVTX_HAS(attributes, payload) && attributes->payloadType > NVTX_PAYLOAD_UNKNOWN &&
        attributes->payloadType <= NVTX_PAYLOAD_TYPE_FLOAT) {
        event->payload_type = (uint16_t)attributes->payloadType;
        event->payload = attributes->payload.ullValue; /* the bits; payload_type says how many of them count */
    }
    if (NVTX_HAS(attributes, message))
        event->message = nvtx_message(attributes->messageType, attributes->message, text, &event->string);
    /* Payloads come last, because they override attributes. */
    if (NVTX_HAS(attributes, payload) && attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT &&
        attributes->reserved0 > 0) {
        const nvtxPayloadData_t *payloads = (const nvtxPayloadData_t *)(uintptr_t)attributes->payload.ullValue;
        const struct nvtx_domain domain = {.number = event->domain};
        event->payload =
            nvtx_payloads_copy(&domain, event->call.end, payloads, (size_t)attributes->reserved0, event, text);
        event->payload_type = event->payload ? SPOOL_NVTX_PAYLOAD_PIECES : 0;
    }
}
