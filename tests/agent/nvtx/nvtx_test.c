
#include <pthread.h>
#include <wchar.h>

#include <nvtx3/nvToolsExtSync.h>

#include "agent/dispatch/registry.h"
#include "tests/agent/nvtx/module.h"
#include "tests/unit.h"

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

static struct gputrace_nvtx last;
static char last_message[32768];
static struct gputrace_nvtx_name last_name;
static char last_text[256];
static unsigned names;

static void keep(char *out, struct gputrace_text text)
{
    memcpy(out, text.bytes ? text.bytes : "", text.length);
    out[text.length] = '\0';
}

static enum registry_kind last_kind;
static char last_domain[256];

static void hear(enum registry_kind kind, const struct gputrace_nvtx *event)
{
    last_kind = kind;
    keep(last_domain, event->domain_name);
    last = *event;
    keep(last_message, event->message);
}

#define HEAR(kind)                                                         \
    static void hear_##kind(void *data, const struct gputrace_nvtx *event) \
    {                                                                      \
        (void)data;                                                        \
        hear(REGISTRY_##kind, event);                                      \
    }
HEAR(nvtx_push)
HEAR(nvtx_pop)
HEAR(nvtx_start)
HEAR(nvtx_end)
HEAR(nvtx_mark)

static void hear_name(void *data, const struct gputrace_nvtx_name *event)
{
    (void)data;
    last_name = *event;
    keep(last_text, event->text);
    names++;
}

static struct gputrace_nvtx_sync last_sync;

static void hear_sync(void *data, const struct gputrace_nvtx_sync *sync)
{
    (void)data;
    last_sync = *sync;
}

UNIT_FIXTURE(attach)
{
    return registry_nvtx_push_register(hear_nvtx_push, NULL) | registry_nvtx_pop_register(hear_nvtx_pop, NULL) |
           registry_nvtx_start_register(hear_nvtx_start, NULL) | registry_nvtx_end_register(hear_nvtx_end, NULL) |
           registry_nvtx_mark_register(hear_nvtx_mark, NULL) | registry_nvtx_name_register(hear_name, NULL) |
           registry_nvtx_sync_register(hear_sync, NULL) | !nvtx_attach(module_export_table);
}

UNIT_FIXTURE(close_shortcut)
{
    registry_open_shortcut(NULL);
    return 0;
}

UNIT_TEST(a_module_that_is_not_understood_is_refused)
{
    assert_int_equal(nvtx_attach(no_table), 0);
}

UNIT_TEST(every_function_of_every_module_is_ours)
{
    for (unsigned module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++)
        for (unsigned i = 1; i < module_sizes[module]; i++)
            if (!module_functions[module][i])
                fail_msg("function %u of module %u has none of ours", i, module);
    assert_int_equal(module_version, NVTX_VERSION);
}

UNIT_TEST(push_and_pop_give_the_depth)
{
    assert_int_equal(CORE(RangePushA)("outer"), 0);
    assert_string_equal(last_message, "outer");
    assert_int_equal(last_kind, REGISTRY_nvtx_push);
    assert_int_equal(CORE(RangePushW)(L"inn\u00e9r"), 1);
    assert_string_equal(last_message, "inn\u00e9r");
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("depths");
    assert_int_equal(CORE2(DomainRangePushEx)(domain, NULL), 0); /* each domain counts its own */
    assert_int_equal(CORE2(DomainRangePop)(domain), 0);
    assert_int_equal(CORE(RangePop)(), 1);
    assert_int_equal(last_kind, REGISTRY_nvtx_pop);
    assert_int_equal(CORE(RangePop)(), 0);
    assert_true(CORE(RangePop)() < 0); /* nothing was pushed */
}

/* More domains than a thread has space for at first. */
UNIT_TEST(every_domain_has_a_depth_of_its_own_on_each_thread)
{
    enum { DOMAINS = 100 };
    nvtxDomainHandle_t domains[DOMAINS];
    for (int i = 0; i < DOMAINS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "domain %d", i);
        domains[i] = CORE2(DomainCreateA)(name);
        for (int depth = 0; depth <= i % 3; depth++)
            assert_int_equal(CORE2(DomainRangePushEx)(domains[i], NULL), depth);
    }
    for (int i = DOMAINS - 1; i >= 0; i--)
        for (int depth = i % 3; depth >= -1; depth--)
            assert_int_equal(CORE2(DomainRangePop)(domains[i]), depth);
}

static void *push_there(void *domain)
{
    assert_int_equal(CORE2(DomainRangePushEx)(domain, NULL), 0);
    return NULL;
}

UNIT_TEST(depths_are_freed_with_their_thread)
{
    pthread_t thread;
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("domain 99");
    assert_int_equal(CORE2(DomainRangePushEx)(domain, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, push_there, domain), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(CORE2(DomainRangePop)(domain), 0);
}

UNIT_TEST(attributes_are_read)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .category = 7,
                                        .colorType = NVTX_COLOR_ARGB,
                                        .color = 0xff00ff00,
                                        .payloadType = NVTX_PAYLOAD_TYPE_DOUBLE,
                                        .payload.dValue = 2.5,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .message.ascii = "with all"};
    CORE(MarkEx)(&attributes);
    assert_int_equal(last_kind, REGISTRY_nvtx_mark);
    assert_string_equal(last_message, "with all");
    assert_int_equal(last.category, 7);
    assert_int_equal(last.color, 0xff00ff00);
    assert_int_equal(last.color_type, 1);
    assert_int_equal(last.payload_type, 3);
    double value;
    memcpy(&value, &last.payload, sizeof(value));
    assert_true(value == 2.5);
    attributes.size = 8; /* of no version that exists */
    CORE(MarkEx)(&attributes);
    assert_string_equal(last_message, "");
}

static void mark_of_size(nvtxEventAttributes_t *attributes, size_t size)
{
    attributes->size = (uint16_t)size;
    memset(&last, 0, sizeof(last));
    CORE(MarkEx)(attributes);
}

UNIT_TEST(a_field_beyond_the_size_of_attributes_is_not_read)
{
    struct {
        nvtxEventAttributes_t known;
        char more[64];
    } whole = {.known = {.version = NVTX_VERSION,
                         .category = 7,
                         .colorType = NVTX_COLOR_ARGB,
                         .color = 0xff00ff00,
                         .payloadType = NVTX_PAYLOAD_TYPE_INT32,
                         .payload.iValue = 5,
                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                         .message.ascii = "text"}};
    memset(whole.more, 0x7f, sizeof(whole.more));
    mark_of_size(&whole.known, sizeof(whole)); /* of a later version */
    assert_string_equal(last_message, "text");
    assert_true(last.category == 7 && last.color_type == 1 && last.payload_type == 5);
    mark_of_size(&whole.known, offsetof(nvtxEventAttributes_t, message));
    assert_string_equal(last_message, "");
    assert_true(last.category == 7 && last.color_type == 1 && last.payload_type == 5);
    mark_of_size(&whole.known, offsetof(nvtxEventAttributes_t, payload));
    assert_true(last.category == 7 && last.color_type == 1 && last.payload_type == 0);
    mark_of_size(&whole.known, offsetof(nvtxEventAttributes_t, color));
    assert_true(last.category == 7 && last.color_type == 0 && last.payload_type == 0);
    mark_of_size(&whole.known, 0);
    assert_true(last.category == 0 && last.color_type == 0 && last.payload_type == 0);
}

UNIT_TEST(a_long_wide_text_is_reported_whole)
{
    enum { LENGTH = 5000 };
    wchar_t text[LENGTH + 1];
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = L'\u00e9';
    text[LENGTH] = L'\0';
    CORE(MarkW)(text);
    assert_int_equal(last.message.length, 2 * LENGTH);
    assert_memory_equal(last_message + 2 * LENGTH - 2, "\u00e9", 2);
}

UNIT_TEST(domains_of_one_name_are_one_domain)
{
    nvtxDomainHandle_t first = CORE2(DomainCreateA)("dom");
    assert_int_equal(last_name.named, NVTX_NAMED_DOMAIN);
    assert_string_equal(last_text, "dom");
    unsigned so_far = names;
    assert_ptr_equal(CORE2(DomainCreateW)(L"dom"), first);
    assert_int_equal(names, so_far);
    assert_ptr_not_equal(CORE2(DomainCreateA)("other"), first);
    assert_int_equal(names, so_far + 1);
}

UNIT_TEST(registered_strings_are_reported_once_and_numbered)
{
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("strings");
    nvtxStringHandle_t string = CORE2(DomainRegisterStringA)(domain, "registered");
    assert_int_equal(last_name.named, NVTX_NAMED_STRING);
    uint32_t number = last_name.number;
    unsigned so_far = names;
    assert_ptr_equal(CORE2(DomainRegisterStringW)(domain, L"registered"), string);
    assert_int_equal(names, so_far);
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message.registered = string};
    CORE2(DomainMarkEx)(domain, &attributes);
    assert_int_equal(last.string, number);
    assert_string_equal(last_message, "registered");
}

UNIT_TEST(ranges_have_ids_of_their_own)
{
    nvtxRangeId_t a = CORE(RangeStartA)("a"), b = CORE(RangeStartW)(L"b");
    assert_true(a != b && a != 0 && b != 0);
    CORE(RangeEnd)(a);
    assert_int_equal(last_kind, REGISTRY_nvtx_end);
    assert_int_equal(last.range, a);
    CORE(RangeEnd)(b);
}

UNIT_TEST(names_are_reported)
{
    CORE(NameOsThreadA)(1234, "worker");
    assert_int_equal(last_name.named, NVTX_NAMED_THREAD);
    assert_int_equal(last_name.number, 1234);
    assert_string_equal(last_text, "worker");
    CORE(NameCategoryW)(9, L"nine");
    assert_int_equal(last_name.named, NVTX_NAMED_CATEGORY);
    assert_int_equal(last_name.number, 9);
    FAKE(CUDA, NameCuContextA)((void *)0x77, "context");
    assert_int_equal(last_name.named, NVTX_NAMED_OBJECT);
    assert_int_equal(last_name.what, SPOOL_NVTX_CONTEXT);
    assert_int_equal(last_name.object, 0x77);
    FAKE(CUDART, NameCudaEventW)((void *)0x78, L"event");
    assert_int_equal(last_name.what, SPOOL_NVTX_CUDA_EVENT);
    assert_string_equal(last_text, "event");
}

static nvtxResourceHandle_t resource(nvtxDomainHandle_t domain, uint32_t type, uint64_t identifier, const char *name)
{
    nvtxResourceAttributes_t attributes = {.version = NVTX_VERSION,
                                           .size = sizeof(attributes),
                                           .identifierType = (int32_t)type,
                                           .identifier.ullValue = identifier,
                                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                           .message.ascii = name};
    return CORE2(DomainResourceCreate)(domain, &attributes);
}

UNIT_TEST(resources_are_reported_when_they_are_made_and_destroyed)
{
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("of resources");
    nvtxResourceHandle_t lock = resource(domain, NVTX_RESOURCE_TYPE_GENERIC_POINTER, 0xabc, "lock");
    assert_non_null(lock);
    assert_int_equal(last_name.named, NVTX_NAMED_RESOURCE);
    assert_true(last_name.object == 0xabc && last_name.resource.type == NVTX_RESOURCE_TYPE_GENERIC_POINTER);
    assert_false(last_name.resource.destroyed);
    assert_string_equal(last_text, "lock");
    uint64_t number = last_name.resource.number;
    assert_ptr_not_equal(resource(domain, NVTX_RESOURCE_TYPE_GENERIC_HANDLE, 5, "other"), lock);
    CORE2(DomainResourceDestroy)(lock);
    assert_true(last_name.resource.destroyed && last_name.resource.number == number);
    CORE2(DomainResourceDestroy)(lock); /* a mistake of the program, and no harm */
    FAKE(OPENCL, NameClSamplerW)((void *)0x99, L"sampler");
    assert_true(last_name.resource.type == (6 << 16 | 5) && last_name.object == 0x99);
    assert_string_equal(last_text, "sampler");
}

static struct gputrace_nvtx_name thread_name;

static void keep_thread_name(void *data, const struct gputrace_nvtx_name *name)
{
    (void)data;
    if (name->named == NVTX_NAMED_THREAD)
        thread_name = *name;
}

struct other_thread {
    pthread_t thread;
    pthread_barrier_t named;
    uint32_t id;
};

static void *wait_for_a_name(void *data)
{
    struct other_thread *other = data;
    other->id = (uint32_t)gettid();
    pthread_barrier_wait(&other->named);
    pthread_barrier_wait(&other->named);
    return NULL;
}

UNIT_TEST(a_posix_thread_is_named_if_it_is_one)
{
    struct other_thread other;
    uint64_t heard = registry_add(REGISTRY_LIBRARY, REGISTRY_nvtx_name, (gputrace_any_fn *)keep_thread_name, NULL);
    pthread_barrier_init(&other.named, NULL, 2);
    assert_int_equal(pthread_create(&other.thread, NULL, wait_for_a_name, &other), 0);
    pthread_barrier_wait(&other.named);
    resource(NULL, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX, (uint64_t)other.thread, "other");
    assert_int_equal(thread_name.number, other.id);
    resource(NULL, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX, (uint64_t)pthread_self(), "own");
    assert_int_equal(thread_name.number, gettid());
    thread_name.number = 0;
    resource(NULL, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX, 0x10, "none");
    assert_int_equal(thread_name.number, 0);
    pthread_barrier_wait(&other.named);
    pthread_join(other.thread, NULL);
    pthread_barrier_destroy(&other.named);
    registry_remove(REGISTRY_LIBRARY, heard);
}

UNIT_TEST(synchronisation_objects_are_resources_with_steps)
{
    nvtxSyncUserAttributes_t attributes = {.version = NVTX_VERSION,
                                           .size = sizeof(attributes),
                                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                           .message.ascii = "spinlock"};
    void *lock = FAKE(SYNC, DomainSyncUserCreate)(NULL, &attributes);
    assert_string_equal(last_text, "spinlock");
    assert_int_equal(last_name.resource.type, SPOOL_NVTX_SYNC_USER);
    uint64_t number = last_name.resource.number;
    const struct {
        void (*call)(void *object);
        enum spool_nvtx_what what;
    } steps[] = {{FAKE(SYNC, DomainSyncUserAcquireStart), SPOOL_NVTX_ACQUIRE},
                 {FAKE(SYNC, DomainSyncUserAcquireFailed), SPOOL_NVTX_ACQUIRE_FAILED},
                 {FAKE(SYNC, DomainSyncUserAcquireSuccess), SPOOL_NVTX_ACQUIRED},
                 {FAKE(SYNC, DomainSyncUserReleasing), SPOOL_NVTX_RELEASE}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        steps[i].call(lock);
        assert_int_equal(last_sync.what, steps[i].what);
        assert_int_equal(last_sync.object, number);
    }
    FAKE(SYNC, DomainSyncUserDestroy)(lock);
    assert_true(last_name.resource.destroyed && last_name.resource.number == number);
}

/* Calls F, and checks what an event of it says beside its attributes. */
#define SAYS(kind, name, domain_name, f)                                      \
    do {                                                                      \
        memset(&last, 0, sizeof(last));                                       \
        f;                                                                    \
        assert_int_equal(last_kind, REGISTRY_nvtx_##kind);                    \
        assert_string_equal(last.call.function, name);                        \
        assert_string_equal(last_domain, domain_name);                        \
        assert_int_equal(last.call.thread, gettid());                         \
        assert_int_equal(last.call.device, GPUTRACE_NO_DEVICE);               \
        assert_true(last.call.start > 0 && last.call.start == last.call.end); \
    } while (0)

UNIT_TEST(every_event_says_its_function_thread_and_domain)
{
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("named");
    SAYS(mark, "nvtxMarkEx", "", CORE(MarkEx)(NULL));
    SAYS(mark, "nvtxMarkA", "", CORE(MarkA)("m"));
    SAYS(mark, "nvtxMarkW", "", CORE(MarkW)(L"m"));
    SAYS(mark, "nvtxDomainMarkEx", "named", CORE2(DomainMarkEx)(domain, NULL));
    SAYS(push, "nvtxRangePushEx", "", CORE(RangePushEx)(NULL));
    SAYS(push, "nvtxRangePushA", "", CORE(RangePushA)("m"));
    SAYS(push, "nvtxRangePushW", "", CORE(RangePushW)(L"m"));
    for (unsigned i = 0; i < 3; i++)
        SAYS(pop, "nvtxRangePop", "", CORE(RangePop)());
    SAYS(push, "nvtxDomainRangePushEx", "named", CORE2(DomainRangePushEx)(domain, NULL));
    SAYS(pop, "nvtxDomainRangePop", "named", CORE2(DomainRangePop)(domain));
    SAYS(start, "nvtxRangeStartEx", "", CORE(RangeStartEx)(NULL));
    SAYS(start, "nvtxRangeStartA", "", CORE(RangeStartA)("m"));
    SAYS(start, "nvtxRangeStartW", "", CORE(RangeStartW)(L"m"));
    SAYS(end, "nvtxRangeEnd", "", CORE(RangeEnd)(77));
    SAYS(start, "nvtxDomainRangeStartEx", "named", CORE2(DomainRangeStartEx)(domain, NULL));
    SAYS(end, "nvtxDomainRangeEnd", "named", CORE2(DomainRangeEnd)(domain, 77));
}

static struct brief {
    enum spool_nvtx_what what;
    uint32_t domain, string;
    char message[64];
} brief;

static void hear_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message)
{
    brief = (struct brief){.what = what, .domain = domain, .string = string};
    keep(brief.message, message);
}

static void assert_brief(enum spool_nvtx_what what, const char *message)
{
    assert_int_equal(brief.what, what);
    assert_string_equal(brief.message, message);
    brief = (struct brief){0};
}

UNIT_TEST_WITH(a_message_alone_takes_the_shortcut, NULL, close_shortcut)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .message.ascii = "alone"};
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("short");
    registry_open_shortcut(hear_briefly);
    last_kind = REGISTRY_event_record;
    assert_int_equal(CORE(RangePushA)("a"), 0);
    assert_brief(SPOOL_NVTX_PUSH, "a");
    CORE(MarkA)("b");
    assert_brief(SPOOL_NVTX_MARK, "b");
    assert_int_equal(CORE2(DomainRangePushEx)(domain, &attributes), 0);
    assert_true(brief.domain > 0 && brief.string == 0);
    assert_brief(SPOOL_NVTX_PUSH, "alone");
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = CORE2(DomainRegisterStringA)(domain, "kept");
    CORE2(DomainMarkEx)(domain, &attributes);
    assert_true(brief.string > 0);
    assert_brief(SPOOL_NVTX_MARK, "kept");
    assert_int_equal(CORE2(DomainRangePop)(domain), 0);
    assert_brief(SPOOL_NVTX_POP, "");
    assert_int_equal(CORE(RangePop)(), 0);
    assert_brief(SPOOL_NVTX_POP, "");
    assert_int_equal(last_kind, REGISTRY_event_record); /* nobody else got it */
}

UNIT_TEST_WITH(more_than_a_message_is_reported_at_length, NULL, close_shortcut)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .colorType = NVTX_COLOR_ARGB,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .message.ascii = "red"};
    registry_open_shortcut(hear_briefly);
    CORE2(DomainMarkEx)(NULL, &attributes);
    assert_string_equal(last_message, "red");
    CORE(RangeStartA)("numbered");
    assert_string_equal(last_message, "numbered");
    CORE(MarkW)(L"wide");
    assert_string_equal(last_message, "wide");
    assert_brief(0, "");
}

UNIT_MAIN(attach, NULL)
