/*
 * Payload schemas, assembled from their records, and copies of the program's memory.
 */
#include "trace/meaning/nvtx/payload_schemas.h"

#include "common/log.h"

void payload_split_text(const char *text, uint32_t length, uint32_t name_length, struct nvtx_text *name,
                        struct nvtx_text *description)
{
    uint32_t bytes = name_length < length ? name_length : length;
    *name = nvtx_text_of(text, bytes);
    *description = bytes < length ? nvtx_text_of(text + bytes, length - bytes) : (struct nvtx_text){NULL, 0};
}

int payload_schemas_index(struct payload_schemas *schemas, const struct event *event)
{
    const struct spool_nvtx_schema *record = event->record;
    struct payload_described schema = {.record = record,
                                       .name = nvtx_text_of(event->text, event->text_length),
                                       .layout = {.id = record->id,
                                                  .flags = record->flags,
                                                  .size = record->size,
                                                  .pack = record->pack,
                                                  .kind = (enum payload_schema_kind)record->kind}};
    return ADD(array_push, &schemas->items, schema) ? 0 : error_no_memory("payload schemas");
}

ORDER_BY(by_number, struct payload_described, record->number)

static struct payload_described *find_number(struct payload_schemas *schemas, uint32_t number)
{
    size_t at = COUNT_BEFORE(schemas->items.count, i, schemas->items.items[i].record->number < number);
    bool found = at < schemas->items.count && schemas->items.items[at].record->number == number;
    return found ? &schemas->items.items[at] : NULL;
}

struct in_domain {
    const struct payload_schemas *schemas;
    uint32_t domain;
};

static const struct payload_schema *find_layout(const void *context, uint64_t id)
{
    const struct in_domain *in = context;
    const struct payload_described *found = payload_schemas_find(in->schemas, in->domain, id);
    return found ? &found->layout : NULL;
}

int payload_schemas_close(struct payload_schemas *schemas)
{
    if (schemas->items.count > 1)
        qsort(schemas->items.items, schemas->items.count, sizeof(*schemas->items.items), by_number);
    /* Each schema gets as many entries as there are records for it, whatever count it claims. */
    for (size_t i = 0; i < schemas->entries.count; i++) {
        struct payload_described *schema = find_number(schemas, schemas->entries.items[i]->schema);
        if (schema && schema->layout.count < PAYLOAD_ENTRIES_MAX)
            schema->layout.count++;
    }
    for (size_t i = 0; i < schemas->items.count; i++) {
        struct payload_described *schema = &schemas->items.items[i];
        schema->entries = calloc(schema->layout.count + 1, sizeof(*schema->entries));
        schema->words = calloc(schema->layout.count + 1, sizeof(*schema->words));
        if (!schema->entries || !schema->words)
            return error_no_memory("payload schemas");
        schema->layout.entries = schema->entries;
    }
    for (size_t i = 0; i < schemas->entries.count; i++) {
        const struct spool_nvtx_entry *record = schemas->entries.items[i];
        struct payload_described *schema = find_number(schemas, record->schema);
        if (!schema || record->index >= schema->layout.count)
            continue;
        struct payload_entry_words *words = &schema->words[record->index];
        schema->entries[record->index] = (struct payload_entry){
            .flags = record->flags, .type = record->type, .detail = record->detail, .offset = record->offset};
        payload_split_text(record->text, record->length, record->name_length, &words->name, &words->description);
    }
    for (size_t i = 0; i < schemas->semantics.count; i++) {
        const struct spool_nvtx_semantics *record = schemas->semantics.items[i];
        struct payload_described *schema = find_number(schemas, record->of);
        if (schema && record->index < schema->layout.count)
            schema->words[record->index].semantics = record;
    }
    /* In order of registration, because a schema can nest only those registered before it. */
    for (size_t i = 0; i < schemas->items.count; i++) {
        struct payload_described *schema = &schemas->items.items[i];
        struct in_domain in = {schemas, schema->record->domain};
        struct payload_reader reader = {.find = find_layout, .context = &in, .budget = PAYLOAD_BUDGET};
        payload_measure(&schema->layout, &reader);
        if (!map_set(&schemas->by_id, payload_key(schema->record->domain, schema->layout.id), i + 1))
            return error_no_memory("payload schemas");
    }
    return 0;
}

const struct payload_described *payload_schemas_find(const struct payload_schemas *schemas, uint32_t domain,
                                                     uint64_t id)
{
    const struct payload_described *found = FIND_ITEM(&schemas->items, &schemas->by_id, payload_key(domain, id));
    return found && found->layout.id == id && found->record->domain == domain ? found : NULL;
}

/* --- copies --- */

int payload_copies_index(struct payload_copies *copies, const struct event *event)
{
    const struct spool_nvtx_piece *record = event->record;
    if (record->head.flags == SPOOL_NVTX_PIECE_LOST) {
        copies->lost += record->size;
        return 0;
    }
    struct payload_copy copy = {.record = record, .number = record->number, .order = copies->items.count};
    return ADD(file_vector_push, &copies->items, copy) ? 0 : error_no_memory("payloads");
}

ORDER_BY(by_number_and_order, struct payload_copy, number, order)

int payload_copies_close(struct payload_copies *copies)
{
    return file_vector_sort(&copies->items, by_number_and_order) == 0 ? 0 : error_no_memory("payloads");
}

const struct payload_copy *payload_copies_first(const struct payload_copies *copies, uint64_t number)
{
    size_t first = COUNT_BEFORE(copies->items.count, i, copies->items.items[i].number < number);
    bool found = first < copies->items.count && copies->items.items[first].number == number;
    return found ? &copies->items.items[first] : NULL;
}

const struct payload_copy *payload_copies_next(const struct payload_copies *copies, const struct payload_copy *copy)
{
    const struct payload_copy *next = copy + 1;
    return next < copies->items.items + copies->items.count && next->number == copy->number ? next : NULL;
}

const uint8_t *payload_copies_at(const struct payload_copies *copies, uint64_t number, uint64_t address, uint64_t *size)
{
    const struct payload_copy *copy = payload_copies_first(copies, number);
    for (; copy; copy = payload_copies_next(copies, copy)) {
        const struct spool_nvtx_piece *record = copy->record;
        bool text = record->head.flags == SPOOL_NVTX_PIECE_STRING;
        uint64_t at = address - record->address;
        if (text || address < record->address || at > record->length || (at == record->length && at != 0))
            continue;
        *size = record->length - at;
        return (const uint8_t *)record->text + at;
    }
    return NULL;
}

const uint8_t *payload_copies_string(const struct payload_copies *copies, uint64_t number, uint64_t handle,
                                     uint64_t *size)
{
    const struct payload_copy *copy = payload_copies_first(copies, number);
    while (copy && (copy->record->head.flags != SPOOL_NVTX_PIECE_STRING || copy->record->address != handle))
        copy = payload_copies_next(copies, copy);
    if (!copy)
        return NULL;
    *size = copy->record->length;
    return (const uint8_t *)copy->record->text;
}
