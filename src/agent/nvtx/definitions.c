/*
 * Keeps what NVTX's extensions define once and refer to later, so that a forked child can write it to its own spool:
 * schemas of payloads, which are checked and measured once, and enumerations, with the semantics of their entries; and
 * the clocks by which the program times events: their functions, points at which two clocks agree, and factors.
 */
#include "agent/nvtx/definitions.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/clock.h"
#include "common/machine.h"

/* A copy of a definition, with its record and texts behind the struct. */
struct definition {
    struct gputrace_nvtx_extension definition;
    struct definition *next;
};

/* Any thread adds to the list without a lock; the latest definition comes first. */
static struct definition *definitions;
static uint32_t last_number;
static uint64_t last_id = PAYLOAD_FIRST_DYNAMIC;

void nvtx_publish(struct gputrace_nvtx_extension *what)
{
    if (what->time == 0)
        what->time = clock_now();
    registry_nvtx_extension_publish(what);
}

static char *copy(char *at, const void *from, size_t size)
{
    if (size > 0)
        memcpy(at, from, size);
    return at + size;
}

void nvtx_define(struct gputrace_nvtx_extension *what)
{
    what->always = true;
    nvtx_publish(what);
    struct definition *kept = NULL;
    if (!fork_unannounced())
        kept = malloc(sizeof(*kept) + what->bytes + what->text.length + what->more.length);
    if (!kept)
        return; /* only a forked child will lack the definition */
    kept->definition = *what;
    char *record = (char *)(kept + 1), *text = copy(record, what->record, what->bytes);
    char *more = copy(text, what->text.bytes, what->text.length);
    copy(more, what->more.bytes, what->more.length);
    kept->definition.record = record;
    kept->definition.text.bytes = text;
    kept->definition.more.bytes = more;
    NVTX_LIST_PUSH(&definitions, kept);
}

void nvtx_definitions_republish(void)
{
    for (struct definition *kept = __atomic_load_n(&definitions, __ATOMIC_ACQUIRE); kept; kept = kept->next)
        registry_nvtx_extension_publish(&kept->definition);
}

uint32_t nvtx_definition_number(void)
{
    return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

uint64_t nvtx_definition_id(uint64_t chosen)
{
    if (chosen >= PAYLOAD_FIRST_SCHEMA && chosen < PAYLOAD_FIRST_DYNAMIC)
        return chosen;
    return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

#define BUCKET(table, domain, id) (&(table)->buckets[((id) ^ (id) >> 24 ^ (domain) * 31u) % NVTX_KNOWN_BUCKETS])

void nvtx_known_add(struct nvtx_known_table *table, struct nvtx_known *known)
{
    NVTX_LIST_PUSH(BUCKET(table, known->domain, known->id), known);
}

struct nvtx_known *nvtx_known_find(struct nvtx_known_table *table, uint32_t domain, uint64_t id)
{
    struct nvtx_known *known = __atomic_load_n(BUCKET(table, domain, id), __ATOMIC_ACQUIRE);
    while (known && (known->id != id || known->domain != domain))
        known = known->next;
    return known;
}

/* --- schemas --- */

struct known_schema {
    struct nvtx_known known;
    struct payload_schema schema;
    uint32_t number;
    struct payload_entry entries[];
};
static struct nvtx_known_table schemas;

const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id)
{
    const struct known_schema *known = (const struct known_schema *)nvtx_known_find(&schemas, domain, id);
    return known ? &known->schema : NULL;
}

static const struct payload_schema *find_in_domain(const void *domain, uint64_t id)
{
    return nvtx_schema_find(*(const uint32_t *)domain, id);
}

static uint64_t add_schema(struct known_schema *known)
{
    struct payload_reader reader = {.find = find_in_domain, .context = &known->known.domain, .budget = PAYLOAD_BUDGET};
    payload_measure(&known->schema, &reader);
    known->known.id = known->schema.id;
    nvtx_known_add(&schemas, &known->known);
    return known->schema.id;
}

/* Makes a schema with space for the readable ones of *COUNT entries, and sets *COUNT to their number. Returns NULL if
 * there is nothing to keep. */
static struct known_schema *make_schema(const struct nvtx_domain *domain, const void *entries, size_t *count,
                                        size_t bytes_of_one)
{
    size_t wanted = *count < PAYLOAD_ENTRIES_MAX ? *count : PAYLOAD_ENTRIES_MAX;
    *count = entries ? program_readable((uintptr_t)entries, wanted * bytes_of_one) / bytes_of_one : 0;
    bool left_out = domain->off || *count == 0 || fork_turned_away();
    struct known_schema *known = left_out ? NULL : calloc(1, sizeof(*known) + *count * sizeof(struct payload_entry));
    if (!known)
        return NULL;
    known->known.domain = domain->number;
    known->number = nvtx_definition_number();
    known->schema.count = (uint32_t)*count;
    known->schema.entries = known->entries;
    return known;
}

static void define_schema(const struct known_schema *known, const char *name, size_t entries)
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

static void define_entry(const struct known_schema *known, uint32_t index, const char *name, const char *description)
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

#define SCHEMA_HAS(attributes, field) (((attributes)->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_##field) != 0)

static uint64_t NVTX_API schema_register(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attributes)
{
    if (!attributes || !SCHEMA_HAS(attributes, TYPE) || !SCHEMA_HAS(attributes, ENTRIES) ||
        !SCHEMA_HAS(attributes, NUM_ENTRIES) || attributes->type < NVTX_PAYLOAD_SCHEMA_TYPE_STATIC ||
        attributes->type > NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR)
        return 0;
    const nvtxPayloadSchemaEntry_t *entries = attributes->entries;
    size_t count = attributes->numEntries;
    struct known_schema *known = make_schema(nvtx_domain_ours(handle), entries, &count, sizeof(*entries));
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
    return add_schema(known);
}

#define ENUM_HAS(attributes, field) (((attributes)->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_##field) != 0)

static uint64_t NVTX_API enum_register(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attributes)
{
    if (!attributes || !ENUM_HAS(attributes, ENTRIES) || !ENUM_HAS(attributes, NUM_ENTRIES))
        return 0;
    const nvtxPayloadEnum_t *entries = attributes->entries;
    size_t count = attributes->numEntries;
    struct known_schema *known = make_schema(nvtx_domain_ours(handle), entries, &count, sizeof(*entries));
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
    return add_schema(known);
}

const struct nvtx_function nvtx_schema_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxPayloadSchemaRegister, schema_register),
    NVTX_EXTENSION_FUNCTION(nvtxPayloadEnumRegister, enum_register),
    {0},
};

/* --- semantics --- */

#define LIST_MAX 16 /* maximum length of a list, which may be endless */

/* Reads one item of a list of semantics. An item of an unknown kind, or too short for its kind, is skipped. */
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

/* --- clocks --- */

#define READ_INTERVAL (10 * NS_PER_MS)
#define READ_TRIES 3     /* the shortest reading is the most exact */
#define TABLE_MAX 65536u /* maximum of points in one table; further points are left out */

struct clock {
    int64_t (*read)(void *data);
    void *data;
    uint64_t id;
    uint32_t domain;
    bool until_end; /* may be read when the process ends */
    uint64_t due;
    struct clock *next;
};

static struct clock *clocks;  /* entries are never removed */
static __thread bool reading; /* this thread is in a clock function of the program, which may call NVTX */

static void read_clock(const struct clock *clock)
{
    struct spool_nvtx_sync sync = {
        .source = clock->id, .target = NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, .domain = clock->domain};
    uint64_t least = UINT64_MAX;
    reading = true;
    for (unsigned i = 0; i < READ_TRIES; i++) {
        uint64_t before = clock_now();
        int64_t value = clock->read(clock->data);
        uint64_t after = clock_now();
        if (after < before || after - before >= least)
            continue;
        least = after - before;
        sync.source_time = value;
        sync.target_time = (int64_t)(before + least / 2);
    }
    reading = false;
    if (least != UINT64_MAX)
        nvtx_publish(NVTX_RECORD(SYNC, &sync, .time = (uint64_t)sync.target_time, .always = true));
}

void nvtx_clocks_read(void)
{
    struct clock *clock = reading ? NULL : __atomic_load_n(&clocks, __ATOMIC_ACQUIRE);
    uint64_t now = clock ? clock_now() : 0;
    for (; clock; clock = clock->next) {
        uint64_t due = __atomic_load_n(&clock->due, __ATOMIC_RELAXED);
        if (now >= due && __atomic_compare_exchange_n(&clock->due, &due, now + READ_INTERVAL, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED))
            read_clock(clock);
    }
}

void nvtx_clocks_finish(void)
{
    for (struct clock *clock = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE); clock && !reading; clock = clock->next)
        if (clock->until_end)
            read_clock(clock);
}

static void add_clock(struct clock made)
{
    struct clock *clock = fork_unannounced() ? NULL : malloc(sizeof(*clock));
    if (!clock)
        return;
    *clock = made;
    NVTX_LIST_PUSH(&clocks, clock);
    nvtx_clocks_read();
}

/* --- clocks of the system --- */

static int64_t read_system(void *clock)
{
    return (int64_t)clock_read((clockid_t)(intptr_t)clock);
}

static int64_t read_counter(void *unused)
{
    (void)unused;
    return (int64_t)(MACHINE == EM_NONE ? clock_monotonic() : machine_counter());
}

/* The system's clocks that never stop, except the trace's own clock. A clock of CPU time stops while its thread waits.
 */
static const struct {
    uint64_t id;
    int64_t (*read)(void *data);
    clockid_t clock;
} systems[] = {
    {NVTX_TIMESTAMP_TYPE_CPU_TSC, read_counter, 0},
    {NVTX_TIMESTAMP_TYPE_CPU_TSC_NONVIRTUALIZED, read_counter, 0},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, read_system, CLOCK_MONOTONIC},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW, read_system, CLOCK_MONOTONIC_RAW},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_COARSE, read_system, CLOCK_MONOTONIC},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME, read_system, CLOCK_BOOTTIME},
    {NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK, read_system, CLOCK_MONOTONIC},
};

void nvtx_clock_used(uint64_t id)
{
    const struct clock *known = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE);
    while (known && known->id != id)
        known = known->next;
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
        if (systems[i].id == id && !known)
            add_clock((struct clock){
                .id = id, .read = systems[i].read, .data = (void *)(intptr_t)systems[i].clock, .until_end = true});
}

/* --- NVTX's functions for clocks --- */

static int64_t NVTX_API timestamp_get(void)
{
    return (int64_t)clock_now();
}

static uint64_t NVTX_API time_domain_register(nvtxDomainHandle_t handle, const nvtxTimeDomainAttr_t *attributes)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (!attributes || domain->off)
        return NVTX_TIME_DOMAIN_ID_NONE;
    struct spool_nvtx_time_domain record = {
        .id = nvtx_definition_id(attributes->timeDomainId),
        .scope = attributes->scopeId,
        .type = attributes->timestampTypeId,
        .start = attributes->timerStart,
        .flags = attributes->timerFlags,
        .resolution = attributes->timerResolution,
        .domain = domain->number,
    };
    nvtx_define(NVTX_RECORD(TIME_DOMAIN, &record));
    nvtx_clock_used(attributes->timestampTypeId);
    return record.id;
}

static void NVTX_API timer_source_with_data(nvtxDomainHandle_t handle, uint64_t id, uint64_t flags,
                                            int64_t (*read)(void *data), void *data)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (read && !domain->off)
        add_clock((struct clock){.id = id,
                                 .read = read,
                                 .data = data,
                                 .domain = domain->number,
                                 .until_end = flags == NVTX_TIMER_SOURCE_SAFE_CALL_AFTER_PROCESS_TEARDOWN});
}

static int64_t read_plain(void *clock)
{
    return ((int64_t (*)(void))clock)();
}

static void NVTX_API timer_source(nvtxDomainHandle_t domain, uint64_t id, uint64_t flags, int64_t (*plain)(void))
{
    timer_source_with_data(domain, id, flags, plain ? read_plain : NULL, (void *)plain);
}

static void define_sync(nvtxDomainHandle_t handle, struct spool_nvtx_sync sync, uint16_t flags)
{
    const struct nvtx_domain *domain = nvtx_domain_ours(handle);
    if (domain->off)
        return;
    sync.domain = domain->number;
    nvtx_clock_used(sync.source);
    nvtx_clock_used(sync.target);
    nvtx_define(NVTX_RECORD(SYNC, &sync, .flags = flags));
}

static void NVTX_API sync_point(nvtxDomainHandle_t domain, uint64_t source, uint64_t target, int64_t source_time,
                                int64_t target_time)
{
    struct spool_nvtx_sync sync = {
        .source = source, .target = target, .source_time = source_time, .target_time = target_time};
    define_sync(domain, sync, SPOOL_NVTX_SYNC_POINT);
}

static void NVTX_API sync_point_table(nvtxDomainHandle_t handle, uint64_t source, uint64_t target,
                                      const nvtxSyncPoint_t *points, size_t count)
{
    size_t wanted = !points ? 0 : count < TABLE_MAX ? count : TABLE_MAX;
    size_t there = program_readable((uintptr_t)points, wanted * sizeof(*points)) / sizeof(*points);
    for (size_t i = 0; i < there; i++)
        sync_point(handle, source, target, points[i].src, points[i].dst);
}

static void NVTX_API conversion_factor(nvtxDomainHandle_t domain, uint64_t source, uint64_t target, double slope,
                                       int64_t source_time, int64_t target_time)
{
    struct spool_nvtx_sync sync = {
        .source = source, .target = target, .source_time = source_time, .target_time = target_time, .slope = slope};
    define_sync(domain, sync, SPOOL_NVTX_SYNC_SLOPE);
}

const struct nvtx_function nvtx_clock_functions[] = {
    NVTX_EXTENSION_FUNCTION(nvtxTimestampGet, timestamp_get),
    NVTX_EXTENSION_FUNCTION(nvtxTimeDomainRegister, time_domain_register),
    NVTX_EXTENSION_FUNCTION(nvtxTimerSource, timer_source),
    NVTX_EXTENSION_FUNCTION(nvtxTimerSourceWithData, timer_source_with_data),
    NVTX_EXTENSION_FUNCTION(nvtxTimeSyncPoint, sync_point),
    NVTX_EXTENSION_FUNCTION(nvtxTimeSyncPointTable, sync_point_table),
    NVTX_EXTENSION_FUNCTION(nvtxTimestampConversionFactor, conversion_factor),
    {0},
};
