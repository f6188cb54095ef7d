#include "trace/build/payload_schemas.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/buffer.h"

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

static int index_schema(struct payload_schemas *schemas, const struct event *event)
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

int payload_schemas_index(struct payload_schemas *schemas, const struct event *event)
{
    const struct spool_record *head = event->record;
    if (head->type == SPOOL_RECORD_NVTX_SCHEMA)
        return index_schema(schemas, event);
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

void payload_copies_release(struct payload_copies *pieces)
{
    file_vector_release(&pieces->items);
}

int payload_copies_index(struct payload_copies *pieces, const struct event *event)
{
    const struct spool_nvtx_piece *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_PIECE)
        return 0;
    if (record->head.flags == SPOOL_NVTX_PIECE_LOST) {
        pieces->lost += record->size;
        return 0;
    }
    struct payload_copy *piece = file_vector_push(&pieces->items);
    if (!piece)
        return error_no_memory("payloads");
    *piece = (struct payload_copy){.record = record, .number = record->number, .order = pieces->items.count};
    return 0;
}

static int by_piece(const void *a, const void *b)
{
    const struct payload_copy *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int payload_copies_close(struct payload_copies *pieces)
{
    return file_vector_sort(&pieces->items, by_piece) == 0 ? 0 : error_no_memory("payloads");
}

const struct payload_copy *payload_copies_first(const struct payload_copies *pieces, uint64_t number)
{
    size_t low = 0, high = pieces->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces->items.items[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pieces->items.count && pieces->items.items[low].number == number ? &pieces->items.items[low] : NULL;
}

const uint8_t *payload_copies_at(const struct payload_copies *pieces, uint64_t number, uint64_t address, uint64_t *size)
{
    const struct payload_copy *piece = payload_copies_first(pieces, number);
    for (; piece; piece = payload_copies_next(pieces, piece)) {
        const struct spool_nvtx_piece *record = piece->record;
        bool text = record->head.flags == SPOOL_NVTX_PIECE_STRING;
        uint64_t at = address - record->address;
        if (text || address < record->address || at > record->length || (at == record->length && at != 0))
            continue;
        *size = record->length - at;
        return (const uint8_t *)record->text + at;
    }
    return NULL;
}

const uint8_t *payload_copies_string(const struct payload_copies *pieces, uint64_t number, uint64_t handle,
                                     uint64_t *size)
{
    const struct payload_copy *piece = payload_copies_first(pieces, number);
    while (piece && (piece->record->head.flags != SPOOL_NVTX_PIECE_STRING || piece->record->address != handle))
        piece = payload_copies_next(pieces, piece);
    if (!piece)
        return NULL;
    *size = piece->record->length;
    return (const uint8_t *)piece->record->text;
}

#define PARENTS_MAX 16 /* a scope that is its own parent ends here */

void nvtx_scopes_release(struct nvtx_scopes *scopes)
{
    array_release(&scopes->items);
    map_release(&scopes->by_id);
}

int nvtx_scopes_index(struct nvtx_scopes *scopes, const struct event *event)
{
    const struct spool_nvtx_scope *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_SCOPE)
        return 0;
    uint64_t *index = map_put(&scopes->by_id, payload_key(record->domain, record->id), NULL);
    const struct spool_nvtx_scope **item = index ? array_push(&scopes->items) : NULL;
    if (!item)
        return error_no_memory("scopes");
    *item = record;
    *index = scopes->items.count;
    return 0;
}

static const struct spool_nvtx_scope *find(const struct nvtx_scopes *scopes, uint32_t domain, uint64_t id)
{
    const uint64_t *index = map_get(&scopes->by_id, payload_key(domain, id));
    const struct spool_nvtx_scope *found = index && *index ? scopes->items.items[*index - 1] : NULL;
    return found && found->id == id && found->domain == domain ? found : NULL;
}

static const char *predefined(uint64_t id)
{
    static const struct {
        uint64_t id;
        const char *name;
    } names[] = {{NVTX_SCOPES_ROOT, "root"},
                 {2, "machine"},
                 {3, "socket"},
                 {4, "physical CPU"},
                 {5, "logical CPU"},
                 {15, "CPU"},
                 {16, "hypervisor"},
                 {17, "virtual machine"},
                 {18, "kernel"},
                 {19, "container"},
                 {20, "operating system"},
                 {NVTX_SCOPES_PROCESS, "process"},
                 {NVTX_SCOPES_THREAD, "thread"},
                 {NVTX_SCOPES_INNERMOST, "thread"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].id == id)
            return names[i].name;
    return NULL;
}

static void put_path(struct buffer *buffer, const struct spool_nvtx_scope *scope)
{
    uint32_t slashes = 0;
    while (slashes < scope->length && scope->text[slashes] == '/')
        slashes++;
    buffer_bytes(buffer, scope->text + slashes, scope->length - slashes);
}

/* The root, and none, are above all paths and not part of them. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct buffer *buffer, uint32_t domain, uint64_t id)
{
    const struct spool_nvtx_scope *path[PARENTS_MAX];
    size_t count = 0;
    const struct spool_nvtx_scope *scope = find(scopes, domain, id);
    for (; scope && count < PARENTS_MAX; scope = find(scopes, domain, scope->parent))
        path[count++] = scope;
    uint64_t above = count ? path[count - 1]->parent : id;
    const char *name = predefined(above);
    bool told = above != NVTX_SCOPES_NONE && (count == 0 || above != NVTX_SCOPES_ROOT) && count < PARENTS_MAX;
    if (told && name)
        buffer_text(buffer, name);
    else if (told)
        buffer_u64(buffer, above);
    for (size_t i = count; i > 0; i--) {
        if (i < count || told)
            buffer_char(buffer, '/');
        put_path(buffer, path[i - 1]);
    }
}
