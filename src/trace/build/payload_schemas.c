#include "trace/build/payload_schemas.h"

#include <stdlib.h>

#include "common/log.h"

void payload_schemas_release(struct payload_schemas *schemas)
{
    for (size_t i = 0; i < schemas->items.count; i++) {
        free(schemas->items.items[i].entries);
        free(schemas->items.items[i].words);
    }
    array_release(&schemas->items);
    array_release(&schemas->entries);
    array_release(&schemas->semantics);
    map_release(&schemas->by_id);
}

void payload_split_text(const char *text, uint32_t length, uint32_t first, struct payload_text *name,
                        struct payload_text *rest)
{
    uint32_t bytes = first < length ? first : length;
    *name = (struct payload_text){bytes ? text : NULL, bytes};
    *rest = (struct payload_text){length > bytes ? text + bytes : NULL, length - bytes};
}

static int see_schema(struct payload_schemas *schemas, const struct event *event)
{
    const struct spool_nvtx_schema *record = event->record;
    struct payload_described *schema = array_push(&schemas->items);
    if (!schema)
        return error_no_memory("payload schemas");
    schema->record = record;
    schema->name = (struct payload_text){event->text_length ? event->text : NULL, event->text_length};
    schema->layout = (struct payload_schema){.id = record->id,
                                             .flags = record->flags,
                                             .size = record->size,
                                             .pack = record->pack,
                                             .kind = (enum payload_schema_kind)record->kind};
    return 0;
}

int payload_schemas_see(struct payload_schemas *schemas, const struct event *event)
{
    const struct spool_record *head = event->record;
    if (head->type == SPOOL_RECORD_NVTX_SCHEMA)
        return see_schema(schemas, event);
    if (head->type == SPOOL_RECORD_NVTX_ENTRY) {
        const struct spool_nvtx_entry **entry = array_push(&schemas->entries);
        if (!entry)
            return error_no_memory("payload schemas");
        *entry = event->record;
    } else if (head->type == SPOOL_RECORD_NVTX_SEMANTICS && head->flags == 0) {
        const struct spool_nvtx_semantics **semantics = array_push(&schemas->semantics);
        if (!semantics)
            return error_no_memory("payload schemas");
        *semantics = event->record;
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct payload_described *left = a, *right = b;
    return left->record->number < right->record->number ? -1 : left->record->number > right->record->number;
}

static struct payload_described *find_number(struct payload_schemas *schemas, uint32_t number)
{
    size_t low = 0, high = schemas->items.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (schemas->items.items[middle].record->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < schemas->items.count && schemas->items.items[low].record->number == number;
    return found ? &schemas->items.items[low] : NULL;
}

/* Room for as many entries as there are records of, whatever the schema says of itself. */
static int make_room(struct payload_schemas *schemas)
{
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
    return 0;
}

static void place_entry(struct payload_schemas *schemas, const struct spool_nvtx_entry *record)
{
    struct payload_described *schema = find_number(schemas, record->schema);
    if (!schema || record->index >= schema->layout.count)
        return;
    struct payload_entry_words *words = &schema->words[record->index];
    schema->entries[record->index] = (struct payload_entry){
        .flags = record->flags, .type = record->type, .detail = record->detail, .offset = record->offset};
    payload_split_text(record->text, record->length, record->name_length, &words->name, &words->description);
}

static void place_semantics(struct payload_schemas *schemas, const struct spool_nvtx_semantics *record)
{
    struct payload_described *schema = find_number(schemas, record->of);
    if (schema && record->index < schema->layout.count)
        schema->words[record->index].semantics = record;
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

/* In order of registration: what a schema nests was registered before it. */
static int measure(struct payload_schemas *schemas)
{
    for (size_t i = 0; i < schemas->items.count; i++) {
        struct payload_described *schema = &schemas->items.items[i];
        struct in_domain in = {schemas, schema->record->domain};
        struct payload_reader reader = {.find = find_layout, .context = &in, .budget = PAYLOAD_BUDGET};
        payload_measure(&schema->layout, &reader);
        uint64_t *index = map_put(&schemas->by_id, payload_key(schema->record->domain, schema->layout.id), NULL);
        if (!index)
            return error_no_memory("payload schemas");
        *index = i + 1;
    }
    return 0;
}

int payload_schemas_close(struct payload_schemas *schemas)
{
    if (schemas->items.count > 1)
        qsort(schemas->items.items, schemas->items.count, sizeof(*schemas->items.items), by_number);
    if (make_room(schemas) != 0)
        return -1;
    for (size_t i = 0; i < schemas->entries.count; i++)
        place_entry(schemas, schemas->entries.items[i]);
    for (size_t i = 0; i < schemas->semantics.count; i++)
        place_semantics(schemas, schemas->semantics.items[i]);
    return measure(schemas);
}

const struct payload_described *payload_schemas_find(const struct payload_schemas *schemas, uint32_t domain,
                                                     uint64_t id)
{
    const uint64_t *index = map_get(&schemas->by_id, payload_key(domain, id));
    const struct payload_described *found = index && *index ? &schemas->items.items[*index - 1] : NULL;
    return found && found->layout.id == id && found->record->domain == domain ? found : NULL;
}
