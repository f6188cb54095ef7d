#include "tests/unit.h"

#include "cli/run_options.h"
#include "common/settings.h"

static int parse(struct run_options *options, const char *word)
{
    static char copy[128]; /* options point into it */
    char *argv[] = {(char *)"run", copy, NULL};
    snprintf(copy, sizeof(copy), "%s", word);
    run_options_init(options);
    return options_parse(&command_run, options, 2, argv, 1);
}

static void expect_refused(const char *word, const char *why)
{
    struct run_options options;
    unit_stderr_begin();
    int result = parse(&options, word);
    const char *text = unit_stderr_end();
    assert_int_equal(result, OPTIONS_ERROR);
    assert_contains(text, why);
}

UNIT_TEST(without_options_all_is_recorded_at_once)
{
    struct run_options options;
    run_options_init(&options);
    assert_string_equal(options.output, "trace.json");
    assert_int_equal(options.settings.trace, TRACE_DEFAULT);
    assert_int_equal(options.graph_nodes, 1);
    assert_string_equal(options.settings.capture_range, "none");
    assert_int_equal(options.delay, 0);
    assert_false(options.quiet || options.verbose);
}

UNIT_TEST(seconds_become_nanoseconds)
{
    struct run_options options;
    assert_int_equal(parse(&options, "--delay=0.25"), 2);
    assert_int_equal(options.delay, 250000000);
    assert_int_equal(parse(&options, "--duration=3"), 2);
    assert_int_equal(options.duration, 3000000000);
    expect_refused("--delay=-1", "is not a time");
    assert_int_equal(parse(&options, "--delay=300ms"), 2);
    assert_int_equal(options.delay, 300000000);
    expect_refused("--delay=1h", "is not a time");
    expect_refused("--delay=nan", "is not a time");
    expect_refused("--delay=1e30", "is not a time");
    expect_refused("--delay=", "is not a time");
    expect_refused("--duration=0", "would record nothing");
}

UNIT_TEST(call_stacks_are_kept_when_asked_for)
{
    struct run_options options;
    assert_int_equal(parse(&options, "--quiet"), 2);
    assert_false(options.backtrace);
    assert_int_equal(parse(&options, "--backtrace"), 2);
    assert_true(options.backtrace);
    expect_refused("--backtrace=all", "takes no argument");
}

UNIT_TEST(stacks_are_a_list_of_words_and_a_distance)
{
    struct run_options options;
    assert_int_equal(parse(&options, "--quiet"), 2);
    assert_int_equal(options.settings.stacks, STACKS_PYTHON);
    assert_int_equal(parse(&options, "--stacks=none"), 2);
    assert_int_equal(options.settings.stacks, 0);
    assert_int_equal(parse(&options, "--stacks=launch"), 2);
    assert_int_equal(options.settings.stacks, STACKS_LAUNCH);
    assert_int_equal(options.settings.stacks_every, 0);
    assert_int_equal(parse(&options, "--stacks=sync,alloc:7"), 2);
    assert_int_equal(options.settings.stacks, STACKS_SYNC | STACKS_ALLOC);
    assert_int_equal(options.settings.stacks_every, 7);
    assert_int_equal(parse(&options, "--stacks=all:1"), 2);
    assert_int_equal(options.settings.stacks, STACKS_ALL);
    assert_int_equal(options.settings.stacks_every, 1);
    expect_refused("--stacks=launches", "launch");
    expect_refused("--stacks=launch,", "launch");
    expect_refused("--stacks=launch:", "is not a number of launches");
    expect_refused("--stacks=launch:0", "is not a number of launches");
    expect_refused("--stacks=launch:1e3", "is not a number of launches");
    expect_refused("--stacks=launch:1,sync", "is not a number of launches");
}

UNIT_TEST(capture_ranges_are_checked)
{
    static const char *const right[] = {"none", "api", "cudaProfilerApi", "nvtx:a", "nvtx:a@b", "nvtx:a b"};
    static const char *const wrong[] = {"", "nvtx", "nvtx:", "nvtx:@b", "API"};
    char word[64];
    struct run_options options;
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        snprintf(word, sizeof(word), "--capture-range=%s", right[i]);
        assert_int_equal(parse(&options, word), 2);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(word, sizeof(word), "--capture-range=%s", wrong[i]);
        expect_refused(word, "is not valid: use none, api,");
    }
}

UNIT_TEST(nvtx_domains_are_named)
{
    struct run_options options;
    assert_int_equal(parse(&options, "--quiet"), 2);
    assert_null(options.settings.nvtx_domains);
    assert_null(options.settings.nvtx_exclude);
    assert_int_equal(parse(&options, "--nvtx-domains=default,a\\,b"), 2);
    assert_string_equal(options.settings.nvtx_domains, "default,a\\,b");
    assert_int_equal(parse(&options, "--nvtx-exclude=NCCL"), 2);
    assert_string_equal(options.settings.nvtx_exclude, "NCCL");
    expect_refused("--nvtx-domains=", "no NVTX domain given");
    expect_refused("--nvtx-exclude=", "no NVTX domain given");
}

UNIT_TEST(other_values_are_checked)
{
    struct run_options options;
    assert_int_equal(parse(&options, "--graph=graph"), 2);
    assert_int_equal(options.graph_nodes, 0);
    expect_refused("--graph=nodes", "did you mean 'node'? Valid are node, graph");
    assert_int_equal(parse(&options, "--flush-interval=50"), 2);
    assert_int_equal(options.settings.flush_interval_ms, 50);
    expect_refused("--flush-interval=0", "milliseconds");
    expect_refused("--flush-interval=9e9", "is not a time");
    expect_refused("--cupti=/no/such/libcupti.so", "No such file");
    expect_refused("--output=%z", "use %p");
    assert_int_equal(parse(&options, "-q"), 2);
    assert_true(options.quiet);
    assert_int_equal(parse(&options, "-v"), 2);
    assert_true(options.verbose);
}

/* --- */

static int64_t parsed(const char *text)
{
    int64_t bits = -1;
    assert_int_equal(trace_list_take(&bits, text), 0);
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
    int result = trace_list_take(&bits, text);
    const char *printed = unit_stderr_end();
    assert_int_equal(result, -1);
    return printed;
}

UNIT_TEST(unknown_names_are_reported_with_the_known_ones)
{
    assert_contains(refused("kernels"), "did you mean 'kernel'?");
    assert_contains(refused("kernel,xyzzy"), "'xyzzy' is not valid: use all, none, cuda, kernel, memcpy");
    assert_contains(refused("kernel,-xyzzy"), "'xyzzy' is not valid");
    assert_contains(refused(""), "empty item");
    assert_contains(refused("kernel,"), "empty item");
    assert_contains(refused("kernel,,nvtx"), "empty item");
    assert_contains(refused("-"), "'' is not valid");
}

UNIT_MAIN(NULL, NULL)