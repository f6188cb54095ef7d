#include "injected/collect/nvtx.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "injected/registry/registry.h"

/* The tables of a module, as NVTX's header would hand them out. */
static NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE], core2[NVTX_CBID_CORE2_SIZE];
static NvtxFunctionPointer *core_slots[NVTX_CBID_CORE_SIZE], *core2_slots[NVTX_CBID_CORE2_SIZE];

static int function_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    if (module == NVTX_CB_MODULE_CORE) {
        *table = core_slots;
        *size = NVTX_CBID_CORE_SIZE;
    } else if (module == NVTX_CB_MODULE_CORE2) {
        *table = core2_slots;
        *size = NVTX_CBID_CORE2_SIZE;
    } else {
        return 0; /* this module has no CUDA */
    }
    return 1;
}

static const void *export_table(uint32_t id)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), function_table};
    return id == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

#define CORE(name) ((nvtx##name##_impl_fntype)core[NVTX_CBID_CORE_##name])
#define CORE2(name) ((nvtx##name##_impl_fntype)core2[NVTX_CBID_CORE2_##name])

static struct nvtx_event last;
static char last_message[256];
static struct nvtx_name_event last_name;
static char last_text[256];
static unsigned names;

static void keep(char *out, struct text text)
{
    memcpy(out, text.bytes ? text.bytes : "", text.length);
    out[text.length] = '\0';
}

static void hear(void *data, const struct nvtx_event *event)
{
    (void)data;
    last = *event;
    keep(last_message, event->message);
}

static void hear_name(void *data, const struct nvtx_name_event *event)
{
    (void)data;
    last_name = *event;
    keep(last_text, event->text);
    names++;
}

static int attach(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NVTX_CBID_CORE_SIZE; i++)
        core_slots[i] = &core[i];
    for (unsigned i = 0; i < NVTX_CBID_CORE2_SIZE; i++)
        core2_slots[i] = &core2[i];
    return registry_nvtx_register(hear, NULL) | registry_nvtx_name_register(hear_name, NULL) |
           !nvtx_attach(export_table);
}

static void a_module_that_is_not_understood_is_refused(void **state)
{
    (void)state;
    assert_int_equal(nvtx_attach(no_table), 0);
}

static void every_function_of_core_is_ours(void **state)
{
    (void)state;
    for (unsigned i = 1; i < NVTX_CBID_CORE_SIZE; i++)
        assert_non_null(core[i]);
    for (unsigned i = 1; i < NVTX_CBID_CORE2_SIZE; i++)
        assert_non_null(core2[i]);
}

static void push_and_pop_give_the_depth(void **state)
{
    (void)state;
    assert_int_equal(CORE(RangePushA)("outer"), 0);
    assert_string_equal(last_message, "outer");
    assert_int_equal(last.what, SPOOL_NVTX_PUSH);
    assert_int_equal(CORE(RangePushW)(L"inn\u00e9r"), 1);
    assert_string_equal(last_message, "inn\u00e9r");
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("depths");
    assert_int_equal(CORE2(DomainRangePushEx)(domain, NULL), 0); /* each domain counts its own */
    assert_int_equal(CORE2(DomainRangePop)(domain), 0);
    assert_int_equal(CORE(RangePop)(), 1);
    assert_int_equal(last.what, SPOOL_NVTX_POP);
    assert_int_equal(CORE(RangePop)(), 0);
    assert_true(CORE(RangePop)() < 0); /* nothing was pushed */
}

static void attributes_are_read(void **state)
{
    (void)state;
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
    assert_int_equal(last.what, SPOOL_NVTX_MARK);
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

static void domains_of_one_name_are_one_domain(void **state)
{
    (void)state;
    nvtxDomainHandle_t first = CORE2(DomainCreateA)("dom");
    assert_int_equal(last_name.named, NVTX_NAMED_DOMAIN);
    assert_string_equal(last_text, "dom");
    unsigned told = names;
    assert_ptr_equal(CORE2(DomainCreateW)(L"dom"), first);
    assert_int_equal(names, told);
    assert_ptr_not_equal(CORE2(DomainCreateA)("other"), first);
    assert_int_equal(names, told + 1);
}

static void registered_strings_are_told_once_and_numbered(void **state)
{
    (void)state;
    nvtxDomainHandle_t domain = CORE2(DomainCreateA)("strings");
    nvtxStringHandle_t string = CORE2(DomainRegisterStringA)(domain, "registered");
    assert_int_equal(last_name.named, NVTX_NAMED_STRING);
    uint32_t number = last_name.number;
    unsigned told = names;
    assert_ptr_equal(CORE2(DomainRegisterStringW)(domain, L"registered"), string);
    assert_int_equal(names, told);
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message.registered = string};
    CORE2(DomainMarkEx)(domain, &attributes);
    assert_int_equal(last.string, number);
    assert_string_equal(last_message, "registered");
}

static void ranges_have_ids_of_their_own(void **state)
{
    (void)state;
    nvtxRangeId_t a = CORE(RangeStartA)("a"), b = CORE(RangeStartW)(L"b");
    assert_true(a != b && a != 0 && b != 0);
    CORE(RangeEnd)(a);
    assert_int_equal(last.what, SPOOL_NVTX_END);
    assert_int_equal(last.range, a);
    CORE(RangeEnd)(b);
}

static void names_are_told(void **state)
{
    (void)state;
    CORE(NameOsThreadA)(1234, "worker");
    assert_int_equal(last_name.named, NVTX_NAMED_THREAD);
    assert_int_equal(last_name.number, 1234);
    assert_string_equal(last_text, "worker");
    CORE(NameCategoryW)(9, L"nine");
    assert_int_equal(last_name.named, NVTX_NAMED_CATEGORY);
    assert_int_equal(last_name.number, 9);
    nvtxResourceAttributes_t resource = {.version = NVTX_VERSION,
                                         .size = sizeof(resource),
                                         .identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER,
                                         .identifier.ullValue = 0xabc,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = "lock"};
    assert_non_null(CORE2(DomainResourceCreate)(NULL, &resource));
    assert_int_equal(last_name.what, SPOOL_NVTX_RESOURCE);
    assert_int_equal(last_name.object, 0xabc);
    assert_string_equal(last_text, "lock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_that_is_not_understood_is_refused),
        cmocka_unit_test(every_function_of_core_is_ours),
        cmocka_unit_test(push_and_pop_give_the_depth),
        cmocka_unit_test(attributes_are_read),
        cmocka_unit_test(domains_of_one_name_are_one_domain),
        cmocka_unit_test(registered_strings_are_told_once_and_numbered),
        cmocka_unit_test(ranges_have_ids_of_their_own),
        cmocka_unit_test(names_are_told),
    };
    return cmocka_run_group_tests_name("collect/nvtx", tests, attach, NULL);
}
