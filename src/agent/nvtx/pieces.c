#include "agent/nvtx/pieces.h"

#include "agent/nvtx/definitions.h"
#include "agent/nvtx/pieces_taking.h"
#include "agent/nvtx/program_memory.h"
#include "agent/nvtx/schemas.h"

#define BATCH_BUDGET (16u * PAYLOAD_BUDGET) /* fields of all events of a batch: the program waits for it */

#define COUNT_MAX 4096u /* of payloads of one event that may be counted as lost */

static uint64_t last_number;

static const struct payload_schema *find_schema(const void *taking, uint64_t id)
{
    return nvtx_schema_find(((const struct nvtx_taking *)taking)->domain, id);
}

static void begin(struct nvtx_taking *taking, const struct nvtx_domain *domain, uint64_t time)
{
    taking->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    taking->time = time;
    taking->domain = domain->number;
    taking->event = NULL;
    taking->room = NULL;
    taking->reader = (struct payload_reader){
        .find = find_schema, .context = taking, .blobs = taking->blobs, .budget = PAYLOAD_BUDGET};
    taking->told_count = 0;
    taking->lost = 0;
}

void nvtx_taking_tell(const struct nvtx_taking *taking, struct spool_nvtx_piece *piece, enum spool_nvtx_piece_kind kind,
                      const void *bytes, uint64_t there)
{
    piece->number = taking->number;
    piece->domain = taking->domain;
    nvtx_tell(NVTX_RECORD(PIECE, piece, .flags = (uint16_t)kind, .time = taking->time,
                          .text = {bytes, there < UINT32_MAX ? (uint32_t)there : UINT32_MAX}));
}

uint64_t nvtx_payload_stride(const struct nvtx_domain *domain, uint64_t id)
{
    const struct payload_schema *schema = nvtx_schema_find(domain->number, id);
    if (schema)
        return schema->kind == PAYLOAD_DYNAMIC ? 0 : schema->size;
    return payload_value_of(id) == PAYLOAD_STRING ? 0 : payload_bytes_of(id);
}

static uint64_t dynamic_size(struct nvtx_taking *taking, const struct payload_schema *schema, const uint8_t *bytes)
{
    struct payload_cursor cursor;
    struct payload_field field;
    uint64_t end = 0;
    payload_begin(&cursor, &taking->reader, schema, bytes, program_readable((uintptr_t)bytes, SPOOL_NVTX_TEXT_MAX), 0);
    while (payload_next(&cursor, &field))
        end = cursor.end > end ? cursor.end : end;
    return end;
}

/* How long a payload is that does not tell it (SIZE_MAX); 0: who knows. */
static uint64_t size_by_schema(struct nvtx_taking *taking, const struct payload_schema *schema,
                               const nvtxPayloadData_t *payload)
{
    uint64_t width = payload_bytes_of(payload->schemaId);
    if (schema && schema->kind == PAYLOAD_DYNAMIC)
        return dynamic_size(taking, schema, payload->payload);
    if (schema)
        return schema->size;
    if (payload_value_of(payload->schemaId) == PAYLOAD_STRING)
        return program_text_length((uintptr_t)payload->payload, width, SPOOL_NVTX_TEXT_MAX) * width;
    return width;
}

/* A size that the program does not say itself, or that is more than its schema has, is not vouched for. */
static uint64_t readable(const struct payload_schema *schema, const nvtxPayloadData_t *payload, uint64_t size)
{
    uint64_t vouched = payload->size == SIZE_MAX ? 0 : schema ? schema->size : payload_bytes_of(payload->schemaId);
    uint64_t kept = size < SPOOL_NVTX_TEXT_MAX ? size : SPOOL_NVTX_TEXT_MAX;
    return kept <= vouched ? kept : program_readable((uintptr_t)payload->payload, (size_t)kept);
}

/* Tells payload INDEX; what it holds is not followed yet. */
static void take(struct nvtx_taking *taking, const nvtxPayloadData_t *payload, uint32_t index)
{
    const struct payload_schema *schema = find_schema(taking, payload->schemaId);
    struct payload_blob *blob = &taking->blobs[index];
    *blob = (struct payload_blob){.schema = payload->schemaId};
    if (payload->payload && payload->size != 0) {
        uint64_t size = payload->size == SIZE_MAX ? size_by_schema(taking, schema, payload) : payload->size;
        blob->bytes = payload->payload;
        blob->size = readable(schema, payload, size);
        nvtx_taking_tell(
            taking,
            &(struct spool_nvtx_piece){
                .address = (uintptr_t)payload->payload, .schema = payload->schemaId, .size = size, .index = index},
            SPOOL_NVTX_PIECE_PAYLOAD, blob->bytes,
            size > blob->size && blob->size == SPOOL_NVTX_TEXT_MAX ? blob->size + 1 /* it is cut, and counted so */
                                                                   : blob->size);
    } else {
        nvtx_taking_tell(taking, &(struct spool_nvtx_piece){.schema = payload->schemaId, .index = index},
                         SPOOL_NVTX_PIECE_PAYLOAD, NULL, 0);
    }
    taking->reader.blob_count = index + 1u;
}

static void finish(struct nvtx_taking *taking)
{
    if (taking->lost > 0)
        nvtx_taking_tell(taking, &(struct spool_nvtx_piece){.size = taking->lost}, SPOOL_NVTX_PIECE_LOST, NULL, 0);
}

uint64_t nvtx_pieces_tell(const struct nvtx_domain *domain, uint64_t time, const nvtxPayloadData_t *payloads,
                          size_t count, struct gputrace_nvtx *event, struct nvtx_text *room)
{
    struct nvtx_taking taking;
    if (!payloads || count == 0)
        return 0;
    begin(&taking, domain, time);
    taking.event = event;
    taking.room = room;
    if (count > 1) /* one is there, if any is */
        count = program_readable((uintptr_t)payloads, (count < COUNT_MAX ? count : COUNT_MAX) * sizeof(*payloads)) /
                sizeof(*payloads);
    for (uint32_t i = 0; i < count && i < PAYLOAD_BLOBS_MAX; i++)
        take(&taking, &payloads[i], i);
    taking.lost = count > PAYLOAD_BLOBS_MAX ? count - PAYLOAD_BLOBS_MAX : 0;
    for (size_t i = 0; i < taking.reader.blob_count; i++) {
        const struct payload_schema *schema = find_schema(&taking, taking.blobs[i].schema);
        if (schema && schema->walks)
            nvtx_taking_follow(&taking, schema, taking.blobs[i].bytes, taking.blobs[i].size, 0);
    }
    finish(&taking);
    return taking.number;
}

void nvtx_pieces_attached(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *room)
{
    const nvtxPayloadData_t *payloads = (const nvtxPayloadData_t *)(uintptr_t)attributes->payload.ullValue;
    if (attributes->payloadType != NVTX_PAYLOAD_TYPE_EXT || attributes->reserved0 <= 0)
        return;
    const struct nvtx_domain domain = {.number = event->domain};
    event->payload = nvtx_pieces_tell(&domain, event->call.end, payloads, (size_t)attributes->reserved0, event, room);
    event->payload_type = event->payload ? SPOOL_NVTX_PAYLOAD_PIECES : 0;
}

uint64_t nvtx_pieces_tell_batch(const struct nvtx_domain *domain, uint64_t time, const struct payload_schema *schema,
                                const nvtxPayloadData_t *events, size_t stride, const nvtxPayloadData_t *flexible)
{
    struct nvtx_taking taking;
    begin(&taking, domain, time);
    take(&taking, events, 0);
    if (flexible->payload && flexible->size > 0)
        take(&taking, flexible, 1);
    unsigned left = BATCH_BUDGET;
    for (uint64_t at = 0; schema->walks && left > 0 && at + stride <= taking.blobs[0].size; at += stride) {
        unsigned budget = left < PAYLOAD_BUDGET ? left : PAYLOAD_BUDGET;
        taking.reader.budget = budget;
        nvtx_taking_follow(&taking, schema, taking.blobs[0].bytes, taking.blobs[0].size, at);
        left -= budget - taking.reader.budget;
    }
    taking.lost += left == 0;
    finish(&taking);
    return taking.number;
}
