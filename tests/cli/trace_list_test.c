#include "tests/unit.h"

#include "cli/trace_list.h"
#include "common/settings.h"

static int64_t parsed(const char *text)
{
    int64_t bits = -1;
    assert_int_equal(trace_list_parse(text, &bits), 0);
    return bits;
}

UNIT_TEST(names_add_up)
{
    assert_int_equal(parsed("kernel"), TRACE_KERNEL);
    assert_int_equal(parsed("nvtx,memcpy"), TRACE_NVTX | TRACE_MEMCPY);
    assert_int_equal(parsed("all"), TRACE_DEFAULT);
    assert_int_equal(parsed("cuda"), TRACE_DEFAULT & ~TRACE_NVTX);
    assert_int_equal(parsed("cuda,nvtx"), TRACE_DEFAULT);
    assert_int_equal(parsed("all,overhead"), TRACE_DEFAULT | TRACE_OVERHEAD);
    assert_int_equal(parsed("none"), 0);
    assert_int_equal(parsed("kernel,none,sync"), TRACE_SYNC);
}

UNIT_TEST(api_all_adds_queries_to_the_default)
{
    assert_int_equal(parsed("api-all"), TRACE_DEFAULT | TRACE_API_ALL);
    assert_int_equal(parsed("api-all,-memory"), (TRACE_DEFAULT | TRACE_API_ALL) & ~TRACE_MEMORY);
    assert_int_equal(parsed("api-all,-api-all"), TRACE_DEFAULT);
}

UNIT_TEST(a_minus_takes_away)
{
    assert_int_equal(parsed("all,-memory"), TRACE_DEFAULT & ~TRACE_MEMORY);
    assert_int_equal(parsed("-memory"), TRACE_DEFAULT & ~TRACE_MEMORY);
    assert_int_equal(parsed("-memory,-nvtx"), TRACE_DEFAULT & ~(TRACE_MEMORY | TRACE_NVTX));
    assert_int_equal(parsed("kernel,memset,-kernel"), TRACE_MEMSET);
}

static const char *refused(const char *text)
{
    int64_t bits;
    unit_stderr_begin();
    int result = trace_list_parse(text, &bits);
    const char *printed = unit_stderr_end();
    assert_int_equal(result, -1);
    return printed;
}

UNIT_TEST(unknown_names_are_reported_with_the_known_ones)
{
    assert_contains(refused("kernels"), "did you mean 'kernel'?");
    assert_contains(refused("kernel,xyzzy"), "'xyzzy' is not valid: use all, none, or a list of kernel memcpy");
    assert_contains(refused("kernel,-xyzzy"), "'xyzzy' is not valid");
    assert_contains(refused(""), "empty item");
    assert_contains(refused("kernel,"), "empty item");
    assert_contains(refused("kernel,,nvtx"), "empty item");
    assert_contains(refused("-"), "'' is not valid");
}

UNIT_MAIN(NULL, NULL)
