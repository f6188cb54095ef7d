#include "common/cupti.h"
#include "common/record_kinds.h"

#include "tests/unit.h"

#define NUMBER(number, kind, ...) kind = (number),
enum { CUPTI_KINDS(NUMBER, NUMBER) LAUNCH_API = INTERNAL_LAUNCH_API };
#undef NUMBER

static const uint32_t kinds[] = {
    MEMCPY,  MEMSET,     KERNEL, DRIVER,          RUNTIME,    DEVICE,      CONTEXT, CONCURRENT_KERNEL,
    MEMCPY2, CUDA_EVENT, STREAM, SYNCHRONIZATION, LAUNCH_API, GRAPH_TRACE, JIT,     OVERHEAD};

/* Measured: the steps of cuptiActivityGetNextRecord() of NVIDIA's libraries, in the order of `kinds`. */
static const struct {
    uint32_t version;
    uint16_t bytes[sizeof(kinds) / sizeof(kinds[0])];
} measured[] = {
    {18, {88, 88, 200, 40, 40, 176, 16, 200, 96, 24, 24, 40, 40, 48, 64, 40}},
    {22, {88, 88, 208, 40, 40, 184, 24, 208, 96, 24, 24, 40, 40, 56, 72, 56}},
    {130001, {96, 88, 216, 40, 40, 184, 32, 216, 96, 56, 24, 56, 40, 56, 72, 56}},
};

UNIT_TEST(sizes_are_those_that_were_measured)
{
    for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
        for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
            assert_int_equal(cupti_record_bytes(kinds[kind], measured[i].version), measured[i].bytes[kind]);
}

/* What the release notes say of the versions between. */
UNIT_TEST(a_size_holds_up_to_the_version_that_changed_it)
{
    static const struct {
        uint32_t kind, last, next;
        uint16_t before, after;
    } changes[] = {
        {CONCURRENT_KERNEL, 18, 19, 200, 208},     /* 12.0 */
        {OVERHEAD, 19, 20, 40, 48},                /* 12.2 */
        {GRAPH_TRACE, 20, 21, 48, 56},             /* 12.3 */
        {JIT, 21, 22, 64, 72},                     /* 12.4 */
        {OVERHEAD, 21, 22, 48, 56},                /* 12.4 */
        {CONTEXT, 21, 22, 16, 24},                 /* 12.4 */
        {CONTEXT, 22, 23, 24, 32},                 /* 12.5 */
        {MEMCPY, 24, 26, 88, 96},                  /* 12.8 */
        {SYNCHRONIZATION, 24, 26, 40, 56},         /* 12.8 */
        {CUDA_EVENT, 24, 26, 24, 56},              /* 12.8 */
        {CONCURRENT_KERNEL, 28, 130000, 208, 216}, /* 13.0 */
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        assert_int_equal(cupti_record_bytes(changes[i].kind, changes[i].last), changes[i].before);
        assert_int_equal(cupti_record_bytes(changes[i].kind, changes[i].next), changes[i].after);
    }
}

UNIT_TEST(what_is_not_known_has_no_size)
{
    assert_int_equal(cupti_record_bytes(0, 18), 0);
    assert_int_equal(cupti_record_bytes(63, 130000), 0);
    assert_int_equal(cupti_record_bytes(CONCURRENT_KERNEL, 17), 0);
    assert_int_equal(cupti_record_bytes(CONCURRENT_KERNEL, 130100), 0); /* longer: Kernel11 */
}

UNIT_MAIN(NULL, NULL)
