#include "tests/unit.h"

#include "common/log.h"
#include "common/settings.h"

UNIT_FIXTURE(clear)
{
#define CLEAR(field, variable) unsetenv(variable);
    SETTINGS_TEXTS(CLEAR)
    SETTINGS_NUMBERS(CLEAR)
#undef CLEAR
    return 0;
}

UNIT_TEST_WITH(without_environment_settings_are_the_defaults, clear, NULL)
{
    struct settings settings, defaults;
    settings_read(&settings);
    settings_init(&defaults);
    assert_null(settings.spool_directory);
    assert_int_equal(settings.trace, TRACE_DEFAULT);
    assert_int_equal(settings.graph_nodes, 1);
    assert_int_equal(settings.verbose, LOG_NORMAL);
    assert_memory_equal(&settings, &defaults, sizeof(settings));
}

UNIT_TEST_WITH(what_is_exported_is_read_again, clear, NULL)
{
    struct settings written = {.spool_directory = "/a b",
                               .capture_range = "nvtx:x@y",
                               .trace = TRACE_KERNEL | TRACE_NVTX,
                               .start_at = INT64_MAX,
                               .stop_at = 5,
                               .flush_interval_ms = 7,
                               .verbose = LOG_QUIET};
    struct settings read;
    assert_int_equal(settings_export(&written), 0);
    settings_read(&read);
    assert_string_equal(read.spool_directory, "/a b");
    assert_string_equal(read.capture_range, "nvtx:x@y");
    assert_int_equal(read.trace, TRACE_KERNEL | TRACE_NVTX);
    assert_int_equal(read.graph_nodes, 0);
    assert_int_equal(read.start_at, INT64_MAX);
    assert_int_equal(read.stop_at, 5);
    assert_int_equal(read.flush_interval_ms, 7);
    assert_int_equal(read.verbose, LOG_QUIET);
}

/* A launcher under a launcher must not inherit what the outer one set. */
UNIT_TEST_WITH(export_takes_away_what_has_no_value, clear, NULL)
{
    setenv("GPUTRACE_CUPTI", "/outer", 1);
    struct settings settings;
    settings_init(&settings);
    assert_int_equal(settings_export(&settings), 0);
    assert_null(getenv("GPUTRACE_CUPTI"));
}

UNIT_TEST_WITH(a_value_that_does_not_parse_counts_as_absent, clear, NULL)
{
    static const char *const wrong[] = {"", "x", "12x", "99999999999999999999", " "};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct settings settings;
        setenv("GPUTRACE_FLUSH_MS", wrong[i], 1);
        settings_read(&settings);
        assert_int_equal(settings.flush_interval_ms, 200);
    }
}

/* --- */

static struct job_rank read_with(const char *const *variables)
{
    static char *output; /* how cmocka was asked to print */
    struct job_rank rank;
    if (!output && getenv("CMOCKA_MESSAGE_OUTPUT"))
        output = strdup(getenv("CMOCKA_MESSAGE_OUTPUT"));
    clearenv();
    if (output)
        setenv("CMOCKA_MESSAGE_OUTPUT", output, 1);
    for (; *variables; variables += 2)
        setenv(variables[0], variables[1], 1);
    rank_read(&rank);
    return rank;
}

#define WITH(...) read_with((const char *const[]){__VA_ARGS__, NULL})

static void assert_rank(struct job_rank rank, int64_t number, int64_t world_size, int64_t local, int64_t node)
{
    assert_int_equal(rank.rank, number);
    assert_int_equal(rank.world_size, world_size);
    assert_int_equal(rank.local, local);
    assert_int_equal(rank.node, node);
}

UNIT_TEST(each_starter_of_jobs_is_known)
{
    assert_rank(WITH("RANK", "3", "WORLD_SIZE", "8", "LOCAL_RANK", "1", "GROUP_RANK", "2"), 3, 8, 1, 2);
    assert_rank(WITH("OMPI_COMM_WORLD_RANK", "4", "OMPI_COMM_WORLD_SIZE", "5", "OMPI_COMM_WORLD_LOCAL_RANK", "0"), 4, 5,
                0, -1);
    assert_rank(WITH("MV2_COMM_WORLD_RANK", "1", "MV2_COMM_WORLD_SIZE", "2", "MV2_COMM_WORLD_LOCAL_RANK", "0"), 1, 2, 0,
                -1);
    assert_rank(WITH("PMI_RANK", "6", "PMI_SIZE", "7", "MPI_LOCALRANKID", "2"), 6, 7, 2, -1);
    assert_rank(WITH("PMIX_RANK", "5"), 5, -1, -1, -1);
    assert_rank(WITH("JSM_NAMESPACE_RANK", "5", "JSM_NAMESPACE_SIZE", "12", "JSM_NAMESPACE_LOCAL_RANK", "1"), 5, 12, 1,
                -1);
    assert_rank(WITH("FLUX_TASK_RANK", "2", "FLUX_JOB_SIZE", "4", "FLUX_TASK_LOCAL_ID", "0"), 2, 4, 0, -1);
    assert_rank(WITH("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_LOCALID", "0", "SLURM_NODEID", "1"), 0, 2, 0, 1);
}

UNIT_TEST(torchruns_counts_before_that_of_what_started_it)
{
    assert_rank(WITH("SLURM_PROCID", "0", "SLURM_NODEID", "0", "RANK", "9"), 9, -1, -1, -1);
    assert_rank(WITH("SLURM_PROCID", "0", "OMPI_COMM_WORLD_RANK", "1", "PMIX_RANK", "1"), 1, -1, -1, -1);
}

UNIT_TEST(what_one_does_not_say_comes_from_another_of_the_same_rank)
{
    assert_rank(WITH("RANK", "3", "WORLD_SIZE", "4", "SLURM_PROCID", "3", "SLURM_NTASKS", "9", "SLURM_LOCALID", "1",
                     "SLURM_NODEID", "1"),
                3, 4, 1, 1);
}

UNIT_TEST(what_is_no_number_is_not_known)
{
    assert_rank(WITH("HOME", "/"), -1, -1, -1, -1);
    assert_rank(WITH("RANK", ""), -1, -1, -1, -1);
    assert_rank(WITH("RANK", "-1"), -1, -1, -1, -1);
    assert_rank(WITH("RANK", "3x"), -1, -1, -1, -1);
    assert_rank(WITH("RANK", "99999999999"), -1, -1, -1, -1);
    assert_rank(WITH("RANK", "x", "PMI_RANK", "2"), 2, -1, -1, -1);
}

UNIT_MAIN(NULL, NULL)
