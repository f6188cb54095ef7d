/*
 * NVTX's extensions in the program's process: which functions are put into a table, and what they tell of what the
 * program hands them, right or wrong.
 */

#include <sys/mman.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/domains.h"
#include "agent/nvtx/nvtx.h"
#include "common/payload.h"
#include "tests/agent/nvtx/module.h"
#include "tests/unit.h"

enum { SLOTS = 63, HEARD_MAX = 512, TEXT_MAX_BYTES = 64 };

static intptr_t payload_slots[SLOTS], counter_slots[SLOTS], memory_slots[SLOTS];

/* What was published: the record as bytes, and the beginning of its text. */
static struct heard {
    enum spool_record_type type;
    uint16_t flags;
    bool always;
    uint32_t length, more_length;
    char text[TEXT_MAX_BYTES + 1], more[TEXT_MAX_BYTES + 1];
    union {
        struct spool_nvtx_schema schema;
        struct spool_nvtx_entry entry;
        struct spool_nvtx_semantics semantics;
        struct spool_nvtx_sync sync;
        struct spool_nvtx_piece piece;
        struct spool_nvtx_deferred deferred;
        struct spool_nvtx_counter counter;
        struct spool_nvtx_sample sample;
        struct spool_nvtx_memory memory;
        struct spool_nvtx_scope scope;
        struct spool_nvtx_time_domain time_domain;
    };
} heard[HEARD_MAX];
static unsigned heard_count;

static struct gputrace_nvtx event;
static char message[TEXT_MAX_BYTES + 1];

static void keep(char out[TEXT_MAX_BYTES + 1], struct gputrace_text text)
{
    uint32_t length = text.length < TEXT_MAX_BYTES ? text.length : TEXT_MAX_BYTES;
    if (length > 0)
        memcpy(out, text.bytes, length);
    out[length] = '\0';
}

static void hear(void *data, const struct gputrace_nvtx_extension *what)
{
    (void)data;
    assert_true(heard_count < HEARD_MAX);
    struct heard *one = &heard[heard_count++];
    *one = (struct heard){.type = what->type,
                          .flags = what->flags,
                          .always = what->always,
                          .length = what->text.length,
                          .more_length = what->more.length};
    keep(one->text, what->text);
    keep(one->more, what->more);
    memcpy(&one->schema, what->record, what->bytes);
}

static void hear_event(void *data, const struct gputrace_nvtx *what)
{
    (void)data;
    event = *what;
    keep(message, what->message);
}

UNIT_FIXTURE(forget)
{
    heard_count = 0;
    event = (struct gputrace_nvtx){0};
    return 0;
}

/* The Nth of a type since the test began. */
static const struct heard *nth(enum spool_record_type type, unsigned n)
{
    for (unsigned i = 0; i < heard_count; i++)
        if (heard[i].type == type && n-- == 0)
            return &heard[i];
    return NULL;
}

static unsigned count(enum spool_record_type type)
{
    unsigned found = 0;
    while (nth(type, found))
        found++;
    return found;
}

UNIT_FIXTURE(attach)
{
    return registry_nvtx_extension_register(hear, NULL) | registry_nvtx_mark_register(hear_event, NULL) |
           registry_nvtx_push_register(hear_event, NULL) | registry_nvtx_pop_register(hear_event, NULL) |
           registry_nvtx_start_register(hear_event, NULL) | registry_nvtx_end_register(hear_event, NULL) |
           !attach_extension(NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID, payload_slots, SLOTS) |
           !attach_extension(NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID, counter_slots, SLOTS) |
           !attach_extension(NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM, memory_slots, SLOTS);
}

/* As NVTX's header calls through its slots. */
#define PAYLOAD(type, name, ...) ((type(*)(__VA_ARGS__))(uintptr_t)payload_slots[NVTX3EXT_CBID_##name])
#define COUNTERS(type, name, ...) ((type(*)(__VA_ARGS__))(uintptr_t)counter_slots[NVTX3EXT_CBID_##name])
#define MEMORY(type, name, ...) ((type(*)(__VA_ARGS__))(uintptr_t)memory_slots[NVTX3EXT_CBID_##name])

/* --- tables --- */

UNIT_TEST_WITH(every_function_of_the_headers_is_ours, forget, NULL)
{
    for (unsigned i = 0; i <= NVTX3EXT_CBID_nvtxEventBatchSubmit; i++)
        assert_true(payload_slots[i] != 0);
    for (unsigned i = 0; i <= NVTX3EXT_CBID_nvtxCounterBatchSubmit; i++)
        assert_true(counter_slots[i] != 0);
    for (unsigned i = 0; i <= NVTX3EXT_CBID_nvtxMemCudaMarkInitialized; i++)
        assert_true(memory_slots[i] != 0);
    assert_true(payload_slots[NVTX3EXT_CBID_nvtxEventBatchSubmit + 1] == 0);
}

UNIT_TEST_WITH(tables_that_are_shorter_or_of_others_are_respected, forget, NULL)
{
    intptr_t slots[SLOTS] = {0};
    assert_int_equal(attach_extension(NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID, slots, 3), 1);
    assert_true(slots[2] != 0 && slots[3] == 0);
    memset(slots, 0, sizeof(slots));
    assert_int_equal(attach_extension(99, NVTX_EXT_PAYLOAD_COMPATID, slots, SLOTS), 1);
    assert_int_equal(attach_extension(NVTX_EXT_PAYLOAD_MODULEID, 0x0204, slots, SLOTS), 1);
    for (unsigned i = 0; i < SLOTS; i++)
        assert_true(slots[i] == 0);
    assert_int_equal(attach_extension(NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID, NULL, SLOTS), 1);
    const nvtxExtModuleInfo_t empty = {.structSize = sizeof(empty), .moduleId = NVTX_EXT_PAYLOAD_MODULEID};
    assert_int_equal(nvtx_extension_attach(&empty), 1);
    assert_int_equal(nvtx_extension_attach(NULL), 0);
    assert_int_equal(nvtx_extension_attach(&(nvtxExtModuleInfo_t){.structSize = 4}), 0);
}

UNIT_TEST_WITH(our_numbers_are_those_of_the_headers, forget, NULL)
{
#define SAME(name) assert_int_equal(PAYLOAD_TYPE_##name, NVTX_PAYLOAD_ENTRY_TYPE_##name)
    SAME(CHAR), SAME(UCHAR), SAME(SHORT), SAME(USHORT), SAME(INT), SAME(UINT), SAME(LONG), SAME(ULONG);
    SAME(LONGLONG), SAME(ULONGLONG), SAME(INT8), SAME(UINT8), SAME(INT16), SAME(UINT16), SAME(INT32), SAME(UINT32);
    SAME(INT64), SAME(UINT64), SAME(FLOAT), SAME(DOUBLE), SAME(LONGDOUBLE), SAME(SIZE), SAME(ADDRESS), SAME(WCHAR);
    SAME(CHAR8), SAME(CHAR16), SAME(CHAR32), SAME(BYTE), SAME(INT128), SAME(UINT128), SAME(FLOAT16), SAME(FLOAT32);
    SAME(FLOAT64), SAME(FLOAT128), SAME(BF16), SAME(TF32), SAME(CATEGORY), SAME(COLOR_ARGB), SAME(SCOPE_ID);
    SAME(PID_UINT32), SAME(PID_UINT64), SAME(TID_UINT32), SAME(TID_UINT64), SAME(CSTRING), SAME(CSTRING_UTF8);
    SAME(CSTRING_UTF16), SAME(CSTRING_UTF32), SAME(UNION_SELECTOR);
    assert_int_equal(PAYLOAD_TYPE_REGISTERED_STRING, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
    assert_int_equal(PAYLOAD_TYPE_REFERENCED, NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED);
    assert_int_equal(PAYLOAD_TYPE_RAW, NVTX_TYPE_PAYLOAD_SCHEMA_RAW);
#define SAME_FLAG(ours, name) assert_int_equal(PAYLOAD_FLAG_##ours, NVTX_PAYLOAD_ENTRY_FLAG_##name)
    SAME_FLAG(POINTER, POINTER), SAME_FLAG(OFFSET_FROM_BASE, OFFSET_FROM_BASE);
    SAME_FLAG(OFFSET_FROM_HERE, OFFSET_FROM_HERE), SAME_FLAG(ARRAY_FIXED, ARRAY_FIXED_SIZE);
    SAME_FLAG(ARRAY_TERMINATED, ARRAY_ZERO_TERMINATED), SAME_FLAG(ARRAY_LENGTH, ARRAY_LENGTH_INDEX);
    SAME_FLAG(ARRAY_LENGTH_PAYLOAD, ARRAY_LENGTH_PAYLOAD_INDEX), SAME_FLAG(DEEP_COPY, DEEP_COPY);
    SAME_FLAG(HIDE, HIDE), SAME_FLAG(EVENT_MESSAGE, EVENT_MESSAGE), SAME_FLAG(TIMESTAMP, TIMESTAMP);
    SAME_FLAG(RANGE_BEGIN, RANGE_BEGIN), SAME_FLAG(RANGE_END, RANGE_END), SAME_FLAG(MARK, MARK);
    SAME_FLAG(COUNTER, COUNTER);
    assert_int_equal(PAYLOAD_UNION_SELECTED, NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR);
    assert_int_equal(PAYLOAD_SCHEMA_MARK, NVTX_PAYLOAD_SCHEMA_FLAG_MARK);
    assert_int_equal(PAYLOAD_FIRST_DYNAMIC, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
}

/* --- schemas --- */

static uint64_t register_schema(const nvtxPayloadSchemaEntry_t *entries, size_t entry_count, uint64_t type, size_t size,
                                uint64_t id)
{
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
        .name = "schema",
        .type = type,
        .entries = entries,
        .numEntries = entry_count,
        .payloadStaticSize = size,
        .schemaId = id,
    };
    return PAYLOAD(uint64_t, nvtxPayloadSchemaRegister, nvtxDomainHandle_t,
                   const nvtxPayloadSchemaAttr_t *)(NULL, &attributes);
}

UNIT_TEST_WITH(a_schema_is_reported_with_its_entries, forget, NULL)
{
    const nvtxSemanticsCounter_t counter = {
        {sizeof(counter), NVTX_SEMANTIC_ID_COUNTERS_V1, NVTX_COUNTER_SEMANTIC_VERSION, NULL},
        .unit = "B",
        .unitScaleNumerator = 1024,
        .unitScaleDenominator = 1,
        .limitType = NVTX_COUNTER_LIMIT_I64,
        .max.i64 = -7};
    const nvtxSemanticsTime_t time = {{sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, 1, &counter.header}, 77};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "first"},
        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
         .type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT,
         .name = "second",
         .description = "what it is",
         .arrayOrUnionDetail = 3,
         .offset = 8,
         .semantics = &time.header},
    };
    const uint64_t fixed = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
    assert_int_equal(register_schema(entries, 2, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 20, fixed), fixed);
    const struct heard *schema = nth(SPOOL_RECORD_NVTX_SCHEMA, 0), *entry = nth(SPOOL_RECORD_NVTX_ENTRY, 1);
    const struct heard *semantics = nth(SPOOL_RECORD_NVTX_SEMANTICS, 0);
    assert_string_equal(schema->text, "schema");
    assert_true(schema->always && schema->schema.id == fixed && schema->schema.size == 20);
    assert_int_equal(schema->schema.entries, 2);
    assert_string_equal(entry->text, "second");
    assert_string_equal(entry->more, "what it is");
    assert_int_equal(entry->entry.name_length, 6);
    assert_int_equal(entry->entry.detail, 3);
    assert_int_equal(entry->entry.schema, schema->schema.number);
    assert_int_equal(semantics->semantics.of, schema->schema.number);
    assert_int_equal(semantics->semantics.index, 1);
    assert_int_equal(semantics->semantics.meanings, SPOOL_NVTX_TIME_MEANT | SPOOL_NVTX_COUNTER_MEANT);
    assert_int_equal(semantics->semantics.time_domain, 77);
    assert_int_equal((int64_t)semantics->semantics.most, -7);
    assert_string_equal(semantics->text, "B");
    uint64_t ours = register_schema(entries, 2, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 20, 0);
    assert_true(ours > NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
}

UNIT_TEST_WITH(schemas_that_cannot_be_are_refused, forget, NULL)
{
    const nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32};
    nvtxPayloadSchemaAttr_t attributes = {.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, .entries = &entry, .numEntries = 1};
#define REGISTER_SCHEMA \
    PAYLOAD(uint64_t, nvtxPayloadSchemaRegister, nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *)
    assert_int_equal(REGISTER_SCHEMA(NULL, NULL), 0);
    assert_int_equal(REGISTER_SCHEMA(NULL, &attributes), 0); /* no field is valid */
    attributes.fieldMask = UINT64_MAX;
    attributes.type = 9;
    assert_int_equal(REGISTER_SCHEMA(NULL, &attributes), 0);
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = NULL;
    assert_int_equal(REGISTER_SCHEMA(NULL, &attributes), 0);
    attributes.entries = (const nvtxPayloadSchemaEntry_t *)(uintptr_t)8;
    assert_int_equal(REGISTER_SCHEMA(NULL, &attributes), 0);
    const nvtxPayloadEnumAttr_t no_values = {.fieldMask = UINT64_MAX, .numEntries = 4};
    assert_int_equal(
        PAYLOAD(uint64_t, nvtxPayloadEnumRegister, nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t *)(NULL, &no_values),
        0);
    assert_int_equal(heard_count, 0);
}

/* Two pages, of which the second cannot be read: the address of its first byte. */
static char *edge(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    return pages + page;
}

UNIT_TEST_WITH(memory_is_readable_up_to_the_page_that_is_not, forget, NULL)
{
    uint64_t end = (uintptr_t)edge(), page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(program_readable(end - page, 3 * page), page);
    assert_int_equal(program_readable(end - page + 5, 10), 10);
    assert_int_equal(program_readable(end, 1), 0);
    memset((char *)(uintptr_t)(end - page), 'x', page);
    assert_int_equal(program_text_length(end - 7, 1, 100), 7);
}

/* A program may put a small number where NVTX expects a pointer. */
UNIT_TEST_WITH(the_first_page_is_not_readable, forget, NULL)
{
    for (uint64_t at = 0; at < 16; at++)
        assert_int_equal(program_readable(at, 8), 0);
}

UNIT_TEST_WITH(more_entries_than_there_are_end_where_memory_does, forget, NULL)
{
    nvtxPayloadSchemaEntry_t *entries = (nvtxPayloadSchemaEntry_t *)(void *)edge() - 2;
    entries[0].type = entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT8;
    assert_true(register_schema(entries, SIZE_MAX, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 0, 0) != 0);
    assert_int_equal(count(SPOOL_RECORD_NVTX_ENTRY), 2);
}

/* --- payloads --- */

static void mark(const nvtxPayloadData_t *payloads, size_t payload_count)
{
    PAYLOAD(void, nvtxMarkPayload, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t)
    (NULL, payloads, payload_count);
}

UNIT_TEST_WITH(payloads_are_copied_byte_for_byte, forget, NULL)
{
    const nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .arrayOrUnionDetail = 4};
    const uint64_t schema = register_schema(&entry, 1, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 4, 0);
    const nvtxPayloadData_t payloads[] = {
        {schema, 4, "abcdefgh"}, {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, "text"}, {schema, SIZE_MAX, "ijklmnop"}};
    mark(payloads, 3);
    assert_int_equal(event.payload_type, SPOOL_NVTX_PAYLOAD_PIECES);
    static const char *const texts[] = {"abcd", "text", "ijkl"};
    for (unsigned i = 0; i < 3; i++) {
        const struct heard *piece = nth(SPOOL_RECORD_NVTX_PIECE, i);
        assert_string_equal(piece->text, texts[i]);
        assert_int_equal(piece->piece.number, event.payload);
        assert_int_equal(piece->piece.index, i);
        assert_int_equal(piece->piece.schema, payloads[i].schemaId);
        assert_int_equal(piece->piece.address, (uintptr_t)payloads[i].payload);
        assert_false(piece->always);
    }
}

UNIT_TEST_WITH(what_is_not_there_is_survived, forget, NULL)
{
    char *end = edge();
    strcpy(end - 4, "end");
    const nvtxPayloadData_t payloads[] = {{NVTX_PAYLOAD_ENTRY_TYPE_INT32, 4, NULL},
                                          {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, SIZE_MAX / 2, (void *)(uintptr_t)16},
                                          {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, 1000, end - 4},
                                          {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, end},
                                          {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32, SIZE_MAX, end - 4},
                                          {12345678901, 8, end - 4},
                                          {NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, end - 4}};
    mark(payloads, 7);
    static const uint32_t lengths[] = {0, 0, 4, 0, 4, 4, 0};
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(nth(SPOOL_RECORD_NVTX_PIECE, i)->length, lengths[i]);
    mark(NULL, 5);
    assert_int_equal(event.payload_type, 0);
}

UNIT_TEST_WITH(more_payloads_than_are_kept_are_counted, forget, NULL)
{
    static nvtxPayloadData_t payloads[PAYLOAD_BLOBS_MAX + 9];
    for (unsigned i = 0; i < PAYLOAD_BLOBS_MAX + 9; i++)
        payloads[i] = (nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_INT8, 1, "x"};
    mark(payloads, PAYLOAD_BLOBS_MAX + 9);
    assert_int_equal(count(SPOOL_RECORD_NVTX_PIECE), PAYLOAD_BLOBS_MAX + 1);
    const struct heard *last = nth(SPOOL_RECORD_NVTX_PIECE, PAYLOAD_BLOBS_MAX);
    assert_int_equal(last->flags, SPOOL_NVTX_PIECE_LOST);
    assert_int_equal(last->piece.size, 9);
}

UNIT_TEST_WITH(pointers_are_followed_as_the_schema_says, forget, NULL)
{
    const nvtxPayloadSchemaEntry_t inner_entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING};
    const uint64_t inner = register_schema(&inner_entry, 1, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 8, 0);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER},
        {.type = inner, .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE},
    };
    const uint64_t schema = register_schema(entries, 7, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 56, 0);
    const char *deep = "deep";
    struct nvtx_string string = {.number = 3, .text = {"registered", 10}}, forged = string;
    string.mark = nvtx_string_mark(&string);
    forged.mark = string.mark; /* a copy lies elsewhere */
    const int32_t not_followed = 7;
    const void *payload[] = {"plain", &not_followed, &deep, "plain", &string, (const void *)(uintptr_t)0x10, &forged};
    payload[3] = payload[0];
    mark(&(nvtxPayloadData_t){schema, sizeof(payload), payload}, 1);
    assert_int_equal(count(SPOOL_RECORD_NVTX_PIECE), 5); /* itself, "plain" once, the struct, "deep", the string */
    assert_string_equal(nth(SPOOL_RECORD_NVTX_PIECE, 1)->text, "plain");
    assert_int_equal(nth(SPOOL_RECORD_NVTX_PIECE, 2)->piece.address, (uintptr_t)&deep);
    assert_string_equal(nth(SPOOL_RECORD_NVTX_PIECE, 3)->text, "deep");
    assert_string_equal(nth(SPOOL_RECORD_NVTX_PIECE, 4)->text, "registered");
    assert_int_equal(nth(SPOOL_RECORD_NVTX_PIECE, 4)->flags, SPOOL_NVTX_PIECE_STRING);
}

UNIT_TEST_WITH(lists_that_do_not_end_are_left, forget, NULL)
{
    const uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 77;
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = id, .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY},
        {.type = id,
         .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY |
                  NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
         .arrayOrUnionDetail = UINT64_MAX},
    };
    register_schema(entries, 2, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 16, id);
    static const void *list[200];
    for (unsigned i = 0; i < 200; i++)
        list[i] = &list[(i * 7 + 3) % 200];
    mark(&(nvtxPayloadData_t){id, sizeof(list), list}, 1);
    assert_true(heard_count < 2 * NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR);
}

UNIT_TEST_WITH(messages_categories_and_colours_are_the_events, forget, NULL)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB},
    };
    const uint64_t schema = register_schema(entries, 3, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 16, 0);
    const struct {
        const char *message;
        uint32_t category, color;
    } payload = {"message", 4, 0xff112233};
    const nvtxPayloadData_t data = {schema, sizeof(payload), &payload};
#define EVENT(type, name) PAYLOAD(type, name, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t)(NULL, &data, 1)
    assert_int_equal(EVENT(int, nvtxRangePushPayload), 0);
    assert_string_equal(message, "message");
    assert_int_equal(event.category, 4);
    assert_int_equal(event.color, 0xff112233);
    assert_int_equal(EVENT(int, nvtxRangePopPayload), 0);
    assert_true(EVENT(int, nvtxRangePopPayload) < 0);
    uint64_t range = EVENT(uint64_t, nvtxRangeStartPayload);
    assert_true(range != 0 && event.range == range);
    PAYLOAD(void, nvtxRangeEndPayload, nvtxDomainHandle_t, nvtxRangeId_t, const nvtxPayloadData_t *, size_t)
    (NULL, range, &data, 1);
    assert_string_equal(event.call.function, "nvtxRangeEndPayload");
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .payloadType = NVTX_PAYLOAD_TYPE_EXT,
                                        .reserved0 = 1,
                                        .payload.ullValue = (uintptr_t)&data,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .message.ascii = "less"};
    struct gputrace_nvtx read = {.category = 9};
    struct nvtx_text space;
    nvtx_read_attributes(&attributes, &read, &space);
    assert_memory_equal(read.message.bytes, "message", 7);
    assert_int_equal(read.category, 4);
    attributes.reserved0 = -1;
    nvtx_read_attributes(&attributes, &read, &space);
    assert_memory_equal(read.message.bytes, "less", 4);
}

/* --- clocks, deferred events --- */

static int64_t ticks;
static int64_t tick(void *data)
{
    return ticks += *(const int64_t *)data;
}

UNIT_TEST_WITH(clocks_are_read_beside_the_traces, forget, NULL)
{
    static int64_t step = 5;
    const nvtxTimeDomainAttr_t attributes = {.timestampTypeId = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC};
    uint64_t id =
        PAYLOAD(uint64_t, nvtxTimeDomainRegister, nvtxDomainHandle_t, const nvtxTimeDomainAttr_t *)(NULL, &attributes);
    assert_int_equal(nth(SPOOL_RECORD_NVTX_TIME_DOMAIN, 0)->time_domain.id, id);
    assert_int_equal(nth(SPOOL_RECORD_NVTX_SYNC, 0)->sync.source, attributes.timestampTypeId); /* is read at once */
    PAYLOAD(void, nvtxTimerSourceWithData, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t (*)(void *), void *)
    (NULL, id, NVTX_TIMER_SOURCE_UNSAFE_CALL_AFTER_PROCESS_TEARDOWN, tick, &step);
    const struct heard *sync = nth(SPOOL_RECORD_NVTX_SYNC, count(SPOOL_RECORD_NVTX_SYNC) - 1);
    assert_int_equal(sync->sync.source, id);
    assert_int_equal(sync->sync.target, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED);
    assert_true(sync->sync.source_time % 5 == 0 && sync->sync.source_time > 0 && sync->always);
    int64_t now = PAYLOAD(int64_t, nvtxTimestampGet, void)();
    assert_true(now >= sync->sync.target_time && now - sync->sync.target_time < 1000000000);
    PAYLOAD(void, nvtxTimerSource, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t (*)(void))(NULL, id, 0, NULL);
    PAYLOAD(void, nvtxTimeSyncPointTable, nvtxDomainHandle_t, uint64_t, uint64_t, const nvtxSyncPoint_t *, size_t)
    (NULL, id, 1, NULL, 9);
}

UNIT_TEST_WITH(batches_are_cut_into_records, forget, NULL)
{
    enum { COUNT = 3000 };
    static int64_t times[COUNT];
    const nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT64};
    nvtxEventBatch_t batch = {.eventSchemaId = register_schema(&entry, 1, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 8, 0),
                              .size = sizeof(times) + 3,
                              .events = times,
                              .scope = 21};
#define SUBMIT(at) PAYLOAD(void, nvtxEventBatchSubmit, nvtxDomainHandle_t, const nvtxEventBatch_t *)(NULL, at)
    SUBMIT(&batch);
    assert_int_equal(count(SPOOL_RECORD_NVTX_DEFERRED), 2);
    uint64_t events = 0;
    for (unsigned i = 0; i < 2; i++) {
        const struct heard *piece = nth(SPOOL_RECORD_NVTX_PIECE, i), *deferred = nth(SPOOL_RECORD_NVTX_DEFERRED, i);
        assert_int_equal(piece->piece.number, deferred->deferred.number);
        assert_int_equal(deferred->deferred.stride, 8);
        assert_int_equal(deferred->deferred.scope, 21);
        assert_true(piece->length <= SPOOL_NVTX_TEXT_MAX);
        events += piece->length / 8;
    }
    assert_int_equal(events, COUNT);
    SUBMIT(NULL);
    batch.events = (const void *)(uintptr_t)8;
    SUBMIT(&batch);
    batch.eventSchemaId = 1;
    SUBMIT(&batch);
    assert_int_equal(count(SPOOL_RECORD_NVTX_DEFERRED), 2);
}

/* --- counters, memory --- */

static uint64_t register_counter(uint64_t schema)
{
    const nvtxCounterAttr_t attributes = {.structSize = sizeof(attributes), .schemaId = schema, .name = "counter"};
    return COUNTERS(uint64_t, nvtxCounterRegister, nvtxDomainHandle_t, const nvtxCounterAttr_t *)(NULL, &attributes);
}

UNIT_TEST_WITH(samples_are_reported_with_their_counter, forget, NULL)
{
    uint64_t id = register_counter(NVTX_PAYLOAD_ENTRY_TYPE_INT16);
    const int16_t value = -3;
    assert_string_equal(nth(SPOOL_RECORD_NVTX_COUNTER, 0)->text, "counter");
    COUNTERS(void, nvtxCounterSampleInt64, nvtxDomainHandle_t, uint64_t, int64_t)(NULL, id, -5);
    COUNTERS(void, nvtxCounterSampleFloat64, nvtxDomainHandle_t, uint64_t, double)(NULL, id, 0.5);
    COUNTERS(void, nvtxCounterSample, nvtxDomainHandle_t, uint64_t, const void *, size_t)(NULL, id, &value, 2);
    COUNTERS(void, nvtxCounterSample, nvtxDomainHandle_t, uint64_t, const void *, size_t)(NULL, id, NULL, 2);
    COUNTERS(void, nvtxCounterSampleNoValue, nvtxDomainHandle_t, uint64_t, uint8_t)(NULL, id, 1);
    assert_int_equal(count(SPOOL_RECORD_NVTX_SAMPLE), 4);
    assert_int_equal((int64_t)nth(SPOOL_RECORD_NVTX_SAMPLE, 0)->sample.bits, -5);
    assert_int_equal(nth(SPOOL_RECORD_NVTX_SAMPLE, 2)->length, 2);
    assert_int_equal(nth(SPOOL_RECORD_NVTX_SAMPLE, 3)->sample.counter, id);
    assert_int_equal(COUNTERS(uint64_t, nvtxCounterRegister, nvtxDomainHandle_t, const nvtxCounterAttr_t *)(NULL, NULL),
                     0);
}

UNIT_TEST_WITH(batches_of_samples_keep_their_times, forget, NULL)
{
    const int16_t values[] = {1, 2, 3, 4};
    const int64_t times[] = {10, 20, 30};
    nvtxCounterBatch_t batch = {.counterId = register_counter(NVTX_PAYLOAD_ENTRY_TYPE_INT16),
                                .counters = values,
                                .countersSize = sizeof(values),
                                .timestamps = times,
                                .timestampsSize = sizeof(times)};
#define SUBMIT_SAMPLES(at) \
    COUNTERS(void, nvtxCounterBatchSubmit, nvtxDomainHandle_t, const nvtxCounterBatch_t *)(NULL, at)
    SUBMIT_SAMPLES(&batch);
    const struct heard *sample = nth(SPOOL_RECORD_NVTX_SAMPLE, 0);
    assert_int_equal(sample->flags, SPOOL_NVTX_SAMPLE_BATCH);
    assert_int_equal(sample->sample.count, 3); /* a sample without a time is none */
    assert_int_equal(sample->length, 24);
    assert_int_equal(sample->more_length, 6);
    batch.timestampsSize = 16;
    batch.flags = UINT64_C(2) << 32;
    SUBMIT_SAMPLES(&batch);
    sample = nth(SPOOL_RECORD_NVTX_SAMPLE, 1);
    assert_int_equal(sample->flags, SPOOL_NVTX_SAMPLE_EVERY);
    assert_int_equal(sample->sample.first, 10 - 3 * 20); /* the end's time */
    assert_int_equal(sample->sample.interval, 20);
    batch.counters = NULL;
    SUBMIT_SAMPLES(&batch);
    SUBMIT_SAMPLES(NULL);
    assert_int_equal(count(SPOOL_RECORD_NVTX_SAMPLE), 2);
}

UNIT_TEST_WITH(heaps_and_regions_have_handles, forget, NULL)
{
    static char pool[64];
    const nvtxMemVirtualRangeDesc_t range = {sizeof(pool), pool};
    nvtxMemHeapDesc_t desc = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                              .structSize = sizeof(desc),
                              .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                              .typeSpecificDescSize = sizeof(range),
                              .typeSpecificDesc = &range,
                              .messageType = NVTX_MESSAGE_TYPE_UNICODE,
                              .message.unicode = L"p\u00f6ol"};
#define HEAP(at) MEMORY(void *, nvtxMemHeapRegister, nvtxDomainHandle_t, nvtxMemHeapDesc_t const *)(NULL, at)
    assert_ptr_equal(HEAP(&desc), pool);
    assert_string_equal(nth(SPOOL_RECORD_NVTX_MEMORY, 0)->text, "p\u00f6ol");
    assert_int_equal(nth(SPOOL_RECORD_NVTX_MEMORY, 0)->memory.size, sizeof(pool));
    desc.typeSpecificDesc = NULL;
    assert_true(HEAP(&desc) != NULL);
    desc.structSize = 8;
    assert_null(HEAP(&desc));
    assert_null(HEAP(NULL));
    nvtxMemRegionHandle_t handles[2] = {NULL, NULL};
    const nvtxMemVirtualRangeDesc_t ranges[] = {{1, pool}, {2, pool + 1}};
    nvtxMemRegionsRegisterBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                           .structSize = sizeof(batch),
                                           .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                           .regionCount = 2,
                                           .regionDescElementSize = sizeof(range),
                                           .regionDescElements = ranges,
                                           .regionHandleElementsOut = handles};
#define REGIONS(at) \
    MEMORY(void, nvtxMemRegionsRegister, nvtxDomainHandle_t, nvtxMemRegionsRegisterBatch_t const *)(NULL, at)
    forget(NULL);
    REGIONS(&batch);
    assert_ptr_equal(handles[1], pool + 1);
    batch.regionDescElementSize = 4; /* shorter than what it is said to be */
    REGIONS(&batch);
    batch.regionDescElementSize = sizeof(range);
    batch.regionDescElements = (const void *)(uintptr_t)64;
    batch.regionCount = SIZE_MAX;
    REGIONS(&batch);
    assert_int_equal(count(SPOOL_RECORD_NVTX_MEMORY), 2);
}

/* --- fork --- */

UNIT_TEST_WITH(definitions_are_reported_again, forget, NULL)
{
    const nvtxScopeAttr_t scope = {.structSize = sizeof(scope), .path = "a/path"};
    PAYLOAD(uint64_t, nvtxScopeRegister, nvtxDomainHandle_t, const nvtxScopeAttr_t *)(NULL, &scope);
    forget(NULL);
    nvtx_definitions_republish();
    assert_string_equal(nth(SPOOL_RECORD_NVTX_SCOPE, 0)->text, "a/path");
    assert_true(count(SPOOL_RECORD_NVTX_SCHEMA) > 0 && count(SPOOL_RECORD_NVTX_ENTRY) > 0);
    assert_int_equal(count(SPOOL_RECORD_NVTX_PIECE), 0);
}

UNIT_MAIN(attach, NULL)
