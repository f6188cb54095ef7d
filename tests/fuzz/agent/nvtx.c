/*
 * NVTX as a program would use it that knows little of it: the input is a row of calls, each a byte that says which and
 * what its arguments are made of. Sizes, types, masks and ids lie as they like; what NVTX's header asks of a program
 * holds: a struct is as long as it says, a text ends, a payload has the bytes that it is said to have or lies before
 * memory that nobody may read.
 */

#include <sys/mman.h>
#include <wchar.h>

#include "agent/dispatch/registry.h"
#include "common/payload.h"
#include "tests/agent/nvtx/module.h"
#include "tests/fuzz/fuzz.h"

/* --- the client: every byte that a callback points to can be read --- */

static void see_text(struct gputrace_text text)
{
    fuzz_touch(text.bytes, text.length);
}

static void see_event(void *data, const struct gputrace_nvtx *event)
{
    (void)data;
    see_text(event->message);
    see_text(event->domain_name);
}

static void see_name(void *data, const struct gputrace_nvtx_name *name)
{
    (void)data;
    see_text(name->text);
}

static void see_extension(void *data, const struct gputrace_nvtx_extension *what)
{
    (void)data;
    FUZZ_HOLDS(what->type > SPOOL_RECORD_NONE && what->type < SPOOL_RECORD_TYPE_COUNT);
    fuzz_touch(what->record, what->bytes);
    see_text((struct gputrace_text){what->text.bytes,
                                    what->text.length < SPOOL_NVTX_TEXT_MAX ? what->text.length : SPOOL_NVTX_TEXT_MAX});
    see_text((struct gputrace_text){what->more.bytes,
                                    what->more.length < SPOOL_NVTX_TEXT_MAX ? what->more.length : SPOOL_NVTX_TEXT_MAX});
}

/* --- the program --- */

#define SLOTS 32
#define SPACES 4
#define SPACE_BYTES 65536u
#define KEPT 64

static intptr_t slots[3][SLOTS];
enum { PAYLOAD, COUNTERS, MEMORY };

static struct program {
    struct fuzz_bytes input;
    char *spaces[SPACES]; /* each ends before a page that cannot be read */
    unsigned next_space;
    nvtxDomainHandle_t domains[4];
    nvtxStringHandle_t string;
    void *kept[KEPT]; /* until this input is done */
    unsigned kept_count;
} program;

static void begin(void)
{
    FUZZ_HOLDS(nvtx_attach(module_export_table) == 1);
    FUZZ_HOLDS(attach_extension(NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID, slots[PAYLOAD], SLOTS) == 1);
    FUZZ_HOLDS(attach_extension(NVTX_EXT_COUNTERS_MODULEID, NVTX_EXT_COUNTERS_COMPATID, slots[COUNTERS], SLOTS) == 1);
    FUZZ_HOLDS(attach_extension(NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM, slots[MEMORY], SLOTS) == 1);
    for (unsigned i = 0; i < SPACES; i++) {
        program.spaces[i] = mmap(NULL, SPACE_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        FUZZ_HOLDS(program.spaces[i] != MAP_FAILED && mprotect(program.spaces[i] + SPACE_BYTES, 4096, PROT_NONE) == 0);
    }
    int failed = registry_nvtx_push_register(see_event, NULL) | registry_nvtx_pop_register(see_event, NULL) |
                 registry_nvtx_start_register(see_event, NULL) | registry_nvtx_end_register(see_event, NULL) |
                 registry_nvtx_mark_register(see_event, NULL) | registry_nvtx_name_register(see_name, NULL) |
                 registry_nvtx_extension_register(see_extension, NULL);
    FUZZ_HOLDS(failed == 0);
}

static uint64_t take(size_t size)
{
    return fuzz_number(&program.input, size);
}

/* Memory of exactly this size, for this input; NULL when there was much already. */
static void *keep(size_t size)
{
    void *made = program.kept_count < KEPT ? calloc(1, size ? size : 1) : NULL;
    if (made)
        program.kept[program.kept_count++] = made;
    return made;
}

static void *take_bytes(size_t size)
{
    void *made = keep(size);
    if (made)
        fuzz_take(&program.input, made, size);
    return made;
}

static const char *take_text(void)
{
    size_t length = take(1) % 40;
    char *text = length ? keep(length) : NULL;
    if (text)
        fuzz_take(&program.input, text, length - 1);
    return text;
}

static const wchar_t *take_wide(void)
{
    size_t length = take(1);
    wchar_t *text = length ? keep(length * sizeof(wchar_t)) : NULL;
    if (text)
        fuzz_take(&program.input, text, (length - 1) * sizeof(wchar_t));
    return text;
}

static nvtxDomainHandle_t take_domain(void)
{
    return program.domains[take(1) % 4];
}

static uint64_t take_id(void)
{
    uint64_t word = take(1);
    return word < 128 ? word : word < 192 ? PAYLOAD_FIRST_SCHEMA + word % 8 : take(8);
}

/* Words of a payload that begin with two bytes 0x50 lead into a space. Others lead nowhere: not into memory of the
 * sanitizer's, which the kernel calls readable. */
static void set_pointers(char *bytes, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at++) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word >> 48 == 0x5050) {
            word = (uintptr_t)program.spaces[word % SPACES] + SPACE_BYTES - (word >> 8) % 512;
            memcpy(bytes + at, &word, sizeof(word));
            at += 7;
        } else if (word >> 16 != 0 && word >> 47 == 0) {
            bytes[at + 7] = 0x70;
        }
    }
}

/* Bytes at the end of a space. */
static void *take_payload(size_t *size)
{
    *size = take(1) * (1 + take(1) % 8);
    size_t there = *size < program.input.left ? *size : program.input.left;
    char *space = program.spaces[program.next_space++ % SPACES] + SPACE_BYTES - *size;
    memset(space, 0, *size);
    fuzz_take(&program.input, space, there);
    set_pointers(space, there);
    return space;
}

static nvtxPayloadData_t *take_payloads(size_t *count)
{
    static nvtxPayloadData_t payloads[80];
    size_t size;
    *count = take(1) % 8;
    if (*count == 7)
        *count = 80;
    memset(payloads, 0, sizeof(payloads));
    for (size_t i = 0; i < *count && i < 8; i++) {
        payloads[i].schemaId = take_id();
        char *bytes = take_payload(&size);
        uint64_t how = take(1);
        if (how >= 200) /* of a size that its schema tells, or that is a lie: then there is more */
            bytes = memcpy(program.spaces[i % SPACES], bytes, size);
        payloads[i].payload = bytes;
        payloads[i].size = how < 200 ? size : how < 230 ? SIZE_MAX : how < 240 ? 0 : take(8);
        if (how == 255)
            payloads[i].payload = NULL;
    }
    return payloads;
}

static nvtxMessageValue_t take_message(int32_t type)
{
    nvtxMessageValue_t message = {0};
    if (type == NVTX_MESSAGE_TYPE_ASCII)
        message.ascii = take_text();
    else if (type == NVTX_MESSAGE_TYPE_UNICODE)
        message.unicode = take_wide();
    else if (type == NVTX_MESSAGE_TYPE_REGISTERED)
        message.registered = program.string;
    return message;
}

/* As long as they say they are, and no longer. */
static nvtxEventAttributes_t *take_attributes(void)
{
    nvtxEventAttributes_t whole = {.version = NVTX_VERSION};
    uint64_t how = take(1);
    size_t count;
    whole.size = how < 200 ? sizeof(whole) : how < 240 ? (uint16_t)(how - 190) : (uint16_t)take(2);
    fuzz_take(&program.input, &whole.category, 4);
    whole.colorType = (int32_t)take(1);
    whole.color = (uint32_t)take(4);
    whole.payloadType = (int32_t)take(1) % 9;
    whole.payload.ullValue = take(8);
    whole.messageType = (int32_t)take(1) % 5;
    whole.message = take_message(whole.messageType);
    if (how % 3 == 0) {
        whole.payload.ullValue = (uintptr_t)take_payloads(&count);
        whole.payloadType = (int32_t)NVTX_PAYLOAD_TYPE_EXT;
        whole.reserved0 = (int32_t)count;
    } else {
        whole.reserved0 = 0;
    }
    size_t size = whole.size < 8 ? 8 : whole.size < sizeof(whole) ? whole.size : sizeof(whole);
    nvtxEventAttributes_t *attributes = keep(size);
    if (attributes)
        memcpy(attributes, &whole, size);
    return attributes;
}

/* --- calls --- */

#define CALL(table, name, type, ...) ((type)slots[table][NVTX3EXT_CBID_##name])(__VA_ARGS__)

static void call_domain(void)
{
    static const char *const names[] = {"a", "b", "c", "", "\xff", "d e"};
    uint64_t which = take(1);
    program.domains[which % 3 + 1] = CORE2(DomainCreateA)(names[which / 3 % 6]);
}

static void call_string(void)
{
    nvtxDomainHandle_t domain = take_domain();
    program.string = take(1) % 4 ? CORE2(DomainRegisterStringA)(domain, take_text())
                                 : CORE2(DomainRegisterStringW)(domain, take_wide());
}

static void call_names(void)
{
    CORE2(DomainNameCategoryA)(take_domain(), (uint32_t)take(1), take_text());
    CORE(NameOsThreadA)((uint32_t)take(2), take_text());
}

static void call_push(void)
{
    CORE2(DomainRangePushEx)(take_domain(), take_attributes());
}

static void call_pop(void)
{
    CORE2(DomainRangePop)(take_domain());
}

static void call_start(void)
{
    nvtxDomainHandle_t domain = take_domain();
    CORE2(DomainRangeEnd)(domain, CORE2(DomainRangeStartEx)(domain, take_attributes()) + take(1) % 2);
}

static void call_wide(void)
{
    CORE(MarkW)(take_wide());
}

static void call_resource(void)
{
    nvtxResourceAttributes_t whole = {.version = NVTX_VERSION};
    whole.size = (uint16_t)(take(1) % 2 ? sizeof(whole) : take(1) % sizeof(whole));
    whole.identifierType = (int32_t)take(4);
    whole.identifier.ullValue = take(1);
    whole.messageType = (int32_t)take(1) % 5;
    whole.message = take_message(whole.messageType);
    nvtxResourceAttributes_t *attributes = keep(whole.size < 4 ? 4 : whole.size);
    if (attributes)
        memcpy(attributes, &whole, whole.size < 4 ? 4 : whole.size);
    CORE2(DomainResourceDestroy)(CORE2(DomainResourceCreate)(take_domain(), attributes));
}

static const nvtxSemanticsHeader_t *take_semantics(void)
{
    uint64_t how = take(1);
    size_t size = how < 128 ? sizeof(nvtxSemanticsCounter_t) : sizeof(nvtxSemanticsHeader_t) + how % 32;
    nvtxSemanticsHeader_t *header = how % 4 ? NULL : take_bytes(size);
    if (!header)
        return NULL;
    header->structSize = (uint32_t)size;
    header->semanticId = (uint16_t)(1 + header->semanticId % 4);
    header->next = how % 8 ? header : NULL; /* a list that does not end */
    if (header->semanticId == NVTX_SEMANTIC_ID_COUNTERS_V1 && size == sizeof(nvtxSemanticsCounter_t))
        ((nvtxSemanticsCounter_t *)header)->unit = take_text();
    return header;
}

static void call_schema(void)
{
    size_t count = take(1) % 12;
    nvtxPayloadSchemaEntry_t *entries = keep(count * sizeof(*entries));
    for (size_t i = 0; entries && i < count; i++) {
        entries[i].flags = take(2);
        entries[i].type = take_id();
        entries[i].name = take_text();
        entries[i].arrayOrUnionDetail = take(1) < 250 ? take(1) : take(8);
        entries[i].offset = take(1) < 250 ? take(1) : take(8);
        entries[i].semantics = take_semantics();
    }
    nvtxPayloadSchemaAttr_t attributes = {.fieldMask = take(2) ^ 0xffff,
                                          .name = take_text(),
                                          .type = take(1) % 6,
                                          .flags = take(1),
                                          .entries = entries,
                                          .numEntries = entries ? count : 0,
                                          .payloadStaticSize = take(1) < 250 ? take(1) : take(8),
                                          .packAlign = take(1) < 250 ? take(1) % 20 : take(8),
                                          .schemaId = take_id()};
    CALL(PAYLOAD, nvtxPayloadSchemaRegister, uint64_t (*)(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *),
         take_domain(), &attributes);
}

static void call_enum(void)
{
    size_t count = take(1) % 6;
    nvtxPayloadEnum_t *entries = keep(count * sizeof(*entries));
    for (size_t i = 0; entries && i < count; i++)
        entries[i] = (nvtxPayloadEnum_t){.name = take_text(), .value = take(1), .isFlag = (int8_t)take(1)};
    nvtxPayloadEnumAttr_t attributes = {.fieldMask = take(1) ^ 0xff,
                                        .name = take_text(),
                                        .entries = entries,
                                        .numEntries = entries ? count : 0,
                                        .sizeOfEnum = take(1),
                                        .schemaId = take_id()};
    CALL(PAYLOAD, nvtxPayloadEnumRegister, uint64_t (*)(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t *),
         take_domain(), &attributes);
}

/* Each by the type that it has: clang 17 and newer check the types of functions that are called through pointers. */

static void call_payloads(void)
{
    typedef void nothing(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    typedef int depth(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    typedef nvtxRangeId_t number(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    size_t count;
    uint64_t which = take(1) % 5;
    const nvtxPayloadData_t *payloads = take_payloads(&count);
    nvtxDomainHandle_t domain = take_domain();
    switch (which) {
    case 0: CALL(PAYLOAD, nvtxMarkPayload, nothing *, domain, payloads, count); break;
    case 1: CALL(PAYLOAD, nvtxRangePushPayload, depth *, domain, payloads, count); break;
    case 2: CALL(PAYLOAD, nvtxRangePopPayload, depth *, domain, payloads, count); break;
    case 3: CALL(PAYLOAD, nvtxRangeStartPayload, number *, domain, payloads, count); break;
    default: CALL(PAYLOAD, nvtxEventSubmit, nothing *, domain, payloads, count); break;
    }
}

static void call_batch(void)
{
    nvtxEventBatch_t batch = {.eventSchemaId = take_id(), .scope = take(1), .flags = take(1)};
    batch.events = take_payload(&batch.size);
    batch.flexData = take_payload(&batch.flexDataSize);
    if (take(1) > 200)
        batch.size = take(8);
    CALL(PAYLOAD, nvtxEventBatchSubmit, void (*)(nvtxDomainHandle_t, const nvtxEventBatch_t *), take_domain(), &batch);
}

static void call_counter(void)
{
    nvtxCounterAttr_t attributes = {.structSize = sizeof(attributes),
                                    .schemaId = take_id(),
                                    .name = take_text(),
                                    .description = take_text(),
                                    .scopeId = take(1),
                                    .semantics = take_semantics(),
                                    .counterId = take_id()};
    CALL(COUNTERS, nvtxCounterRegister, uint64_t (*)(nvtxDomainHandle_t, const nvtxCounterAttr_t *), take_domain(),
         &attributes);
}

static void call_sample(void)
{
    size_t size;
    nvtxDomainHandle_t domain = take_domain();
    uint64_t id = take_id();
    const void *bytes = take_payload(&size);
    CALL(COUNTERS, nvtxCounterSample, void (*)(nvtxDomainHandle_t, uint64_t, const void *, size_t), domain, id, bytes,
         size);
}

static void call_samples(void)
{
    nvtxCounterBatch_t batch = {.counterId = take_id(), .flags = take(5)};
    batch.counters = take_payload(&batch.countersSize);
    size_t times;
    const char *timestamps = take_payload(&times);
    batch.timestamps = times >= 8 ? (const int64_t *)(timestamps + times % 8) : NULL;
    batch.timestampsSize = times / 8 * 8;
    if (take(1) > 200)
        batch.countersSize = take(8);
    CALL(COUNTERS, nvtxCounterBatchSubmit, void (*)(nvtxDomainHandle_t, const nvtxCounterBatch_t *), take_domain(),
         &batch);
}

static void call_clocks(void)
{
    nvtxTimeDomainAttr_t attributes = {.scopeId = take(1), .timeDomainId = take_id(), .timestampTypeId = take(1) % 64};
    CALL(PAYLOAD, nvtxTimeDomainRegister, uint64_t (*)(nvtxDomainHandle_t, const nvtxTimeDomainAttr_t *), take_domain(),
         &attributes);
    CALL(PAYLOAD, nvtxTimeSyncPoint, void (*)(nvtxDomainHandle_t, uint64_t, uint64_t, int64_t, int64_t), take_domain(),
         take_id(), take_id(), (int64_t)take(8), (int64_t)take(8));
}

static void call_memory(void)
{
    nvtxMemVirtualRangeDesc_t *range = take_bytes(sizeof(*range));
    nvtxMemHeapDesc_t heap = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                              .structSize = sizeof(heap),
                              .usage = (uint32_t)take(1),
                              .type = (uint32_t)take(1) % 8,
                              .typeSpecificDescSize = range ? sizeof(*range) : 0,
                              .typeSpecificDesc = range,
                              .messageType = (uint32_t)take(1) % 5};
    heap.message = take_message((int32_t)heap.messageType);
    size_t size;
    nvtxMemRegionsRegisterBatch_t regions = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                             .structSize = sizeof(regions),
                                             .regionType = (uint32_t)take(1) % 8,
                                             .regionCount = take(1) < 250 ? take(1) : take(8),
                                             .regionDescElementSize = take(1)};
    regions.heap = CALL(MEMORY, nvtxMemHeapRegister,
                        nvtxMemHeapHandle_t(*)(nvtxDomainHandle_t, nvtxMemHeapDesc_t const *), take_domain(), &heap);
    regions.regionDescElements = take_payload(&size);
    CALL(MEMORY, nvtxMemRegionsRegister, void (*)(nvtxDomainHandle_t, nvtxMemRegionsRegisterBatch_t const *),
         take_domain(), &regions);
}

static void (*const calls[])(void) = {
    call_domain,  call_string,   call_names,   call_push,   call_pop,      call_start,
    call_wide,    call_resource, call_schema,  call_enum,   call_payloads, call_batch,
    call_counter, call_sample,   call_samples, call_clocks, call_memory,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!program.spaces[0])
        begin();
    program.input = (struct fuzz_bytes){data, size};
    program.string = NULL;
    while (program.input.left > 1)
        calls[take(1) % (sizeof(calls) / sizeof(*calls))]();
    while (program.kept_count > 0)
        free(program.kept[--program.kept_count]);
    return 0;
}
