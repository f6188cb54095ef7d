/*
 * NVTX's functions that register schemas of payloads and enumerations, and the semantics of their entries. A schema is
 * checked and measured once, so that payloads can be copied by it; the spool gets a record of it.
 */
#include "agent/nvtx/schemas.h"

#include <stdlib.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"

struct known {
    struct nvtx_known known;
    struct payload_schema schema;
    uint32_t number;
    struct payload_entry entries[];
};
static struct nvtx_known_table schemas;

const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id)
{
    const struct known *known = (const struct known *)nvtx_known_find(&schemas, domain, id);
    return known ? &known->schema : NULL;
}

static const struct payload_schema *find_in_domain(const void *domain, uint64_t id)
{
    return nvtx_schema_find(*(const uint32_t *)domain, id);
}

static uint64_t add(struct known *known)
{
    struct payload_reader reader = {.find = find_in_domain, .context = &known->known.domain, .budget = PAYLOAD_BUDGET};
    payload_measure(&known->schema, &reader);
    known->known.id = known->schema.id;
    nvtx_known_add(&schemas, &known->known);
    return known->schema.id;
}

/* A schema of COUNT entries, of which those that can be read are kept; NULL: there is nothing to keep. */
static struct known *make(const struct nvtx_domain *domain, const void *entries, size_t *count, size_t bytes_of_one)
{
    size_t wanted = *count < PAYLOAD_ENTRIES_MAX ? *count : PAYLOAD_ENTRIES_MAX;
    *count = entries ? program_readable((uintptr_t)entries, wanted * bytes_of_one) / bytes_of_one : 0;
    bool left_out = domain->off || *count == 0 || fork_turned_away();
    struct known *known = left_out ? NULL : calloc(1, sizeof(*known) + *count * sizeof(struct payload_entry));
    if (!known)
        return NULL;
    known->known.domain = domain->number;
    known->number = nvtx_definition_number();
    known->schema.count = (uint32_t)*count;
    known->schema.entries = known->entries;
    return known;
}

static void define_schema(const struct known *known, const char *name, size_t entries)
{
    struct spool_nvtx_schema record = {
        .id = known->schema.id,
        .flags = known->schema.flags,
        .size = known->schema.size,
        .pack = known->schema.pack,
        .number = known->number,
        .domain = known->known.domain,
        .kind = known->schema.kind,
        .entries = entries < UINT32_MAX ? (uint32_t)entries : UINT32_MAX,
    };
    nvtx_define(NVTX_RECORD(SCHEMA, &record, .text = text_of(name)));
}

static void define_entry(const struct known *known, uint32_t index, const char *name, const char *description)
{
    const struct payload_entry *entry = &known->entries[index];
    struct gputrace_text text = text_of(name);
    struct spool_nvtx_entry record = {
        .flags = entry->flags,
        .type = entry->type,
        .detail = entry->detail,
        .offset = entry->offset,
        .schema = known->number,
        .index = index,
        .name_length = text.length < SPOOL_NVTX_TEXT_MAX ? text.length : SPOOL_NVTX_TEXT_MAX,
    };
    nvtx_define(NVTX_RECORD(ENTRY, &record, .text = text, .more = text_of(description)));
}

/* --- schemas --- */

#define SCHEMA_HAS(attributes, field) (((attributes)->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_##field) != 0)

static bool schema_is_sound(const nvtxPayloadSchemaAttr_t *attributes)
{
    return attributes && SCHEMA_HAS(attributes, TYPE) && SCHEMA_HAS(attributes, ENTRIES) &&
           SCHEMA_HAS(attributes, NUM_ENTRIES) && attributes->type >= NVTX_PAYLOAD_SCHEMA_TYPE_STATIC &&
           attributes->type <= NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR;
}

static uint64_t NVTX_API schema_register(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attributes)
{
    if (!schema_is_sound(attributes))
        return 0;
    const nvtxPayloadSchemaEntry_t *entries = attributes->entries;
    size_t count = attributes->numEntries;
    struct known *known = make(nvtx_domain_ours(handle), entries, &count, sizeof(*entries));
    if (!known)
        return 0;
    struct payload_schema *schema = &known->schema;
    schema->kind = (enum payload_schema_kind)attributes->type;
    schema->flags = SCHEMA_HAS(attributes, FLAGS) ? attributes->flags : 0;
    if (SCHEMA_HAS(attributes, STATIC_SIZE) && schema->kind != PAYLOAD_DYNAMIC)
        schema->size = attributes->payloadStaticSize;
    schema->pack = SCHEMA_HAS(attributes, ALIGNMENT) ? attributes->packAlign : 0;
    schema->id = nvtx_definition_id(SCHEMA_HAS(attributes, SCHEMA_ID) ? attributes->schemaId : 0);
    define_schema(known, SCHEMA_HAS(attributes, NAME) ? attributes->name : NULL, attributes->numEntries);
    for (uint32_t i = 0; i < count; i++) {
        known->entries[i] = (struct payload_entry){.flags = entries[i].flags,
                                                   .type = entries[i].type,
                                                   .detail = entries[i].arrayOrUnionDetail,
                                                   .offset = entries[i].offset};
        define_entry(known, i, entries[i].name, entries[i].description);
        nvtx_semantics_define(entries[i].semantics, NVTX_SEMANTICS_OF_ENTRY, known->number, i);
    }
    return add(known);
}

/* --- enumerations --- */

#define ENUM_HAS(attributes, field) (((attributes)->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_##field) != 0)

static uint64_t NVTX_API enum_register(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attributes)
{
    if (!attributes || !ENUM_HAS(attributes, ENTRIES) || !ENUM_HAS(attributes, NUM_ENTRIES))
        return 0;
    const nvtxPayloadEnum_t *entries = attributes->entries;
    size_t count = attributes->numEntries;
    struct known *known = make(nvtx_domain_ours(handle), entries, &count, sizeof(*entries));
    if (!known)
        return 0;
    known->schema.kind = PAYLOAD_ENUM;
    known->schema.size = ENUM_HAS(attributes, SIZE) ? attributes->sizeOfEnum : sizeof(int);
    known->schema.id = nvtx_definition_id(ENUM_HAS(attributes, SCHEMA_ID) ? attributes->schemaId : 0);
    define_schema(known, ENUM_HAS(attributes, NAME) ? attributes->name : NULL, attributes->numEntries);
    for (uint32_t i = 0; i < count; i++) {
        known->entries[i] = (struct payload_entry){.flags = entries[i].isFlag != 0, .detail = entries[i].value};
        define_entry(known, i, entries[i].name, NULL);
    }
    return add(known);
}

const struct nvtx_function nvtx_schema_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxPayloadSchemaRegister, schema_register),
    NVTX_EXTENSION_FUNCTION(nvtxPayloadEnumRegister, enum_register),
    {0},
};

/* --- semantics --- */

#define LIST_MAX 16 /* a list that does not end is left */

/* Semantics that are not known, or too short for what they say they are, are passed over. */
static void read_one(const nvtxSemanticsHeader_t *header, struct spool_nvtx_semantics *record,
                     struct gputrace_text *unit)
{
    if (header->semanticId == NVTX_SEMANTIC_ID_SCOPE_V1 && header->structSize >= sizeof(nvtxSemanticsScope_t)) {
        record->scope = ((const nvtxSemanticsScope_t *)(const void *)header)->scopeId;
        record->meanings |= SPOOL_NVTX_SCOPE_MEANT;
    } else if (header->semanticId == NVTX_SEMANTIC_ID_TIME_V1 && header->structSize >= sizeof(nvtxSemanticsTime_t)) {
        record->time_domain = ((const nvtxSemanticsTime_t *)(const void *)header)->timeDomainId;
        record->meanings |= SPOOL_NVTX_TIME_MEANT;
        nvtx_clock_used(record->time_domain);
    } else if (header->semanticId == NVTX_SEMANTIC_ID_COUNTERS_V1 &&
               header->structSize >= sizeof(nvtxSemanticsCounter_t)) {
        const nvtxSemanticsCounter_t *counter = (const void *)header;
        record->flags = counter->flags;
        record->numerator = counter->unitScaleNumerator;
        record->denominator = counter->unitScaleDenominator;
        record->limit_type = (uint32_t)counter->limitType;
        record->least = counter->min.u64;
        record->most = counter->max.u64;
        record->meanings |= SPOOL_NVTX_COUNTER_MEANT;
        *unit = text_of(counter->unit);
    }
}

void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index)
{
    struct spool_nvtx_semantics record = {.of = of, .index = index};
    struct gputrace_text unit = {0};
    const nvtxSemanticsHeader_t *header = first;
    for (unsigned i = 0; header && i < LIST_MAX; i++, header = header->next) {
        if (program_readable((uintptr_t)header, sizeof(*header)) < sizeof(*header) ||
            program_readable((uintptr_t)header, header->structSize) < header->structSize)
            break;
        read_one(header, &record, &unit);
    }
    if (record.meanings != 0)
        nvtx_define(NVTX_RECORD(SEMANTICS, &record, .flags = what, .text = unit));
}
