#include "tests/unit.h"

#include "common/rank.h"

static struct rank read_with(const char *const *variables)
{
    static char *output; /* how cmocka was asked to print */
    struct rank rank;
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

static void assert_rank(struct rank rank, int64_t number, int64_t world_size, int64_t local)
{
    assert_int_equal(rank.rank, number);
    assert_int_equal(rank.world_size, world_size);
    assert_int_equal(rank.local, local);
}

static void each_starter_of_jobs_is_known(void **state)
{
    (void)state;
    assert_rank(WITH("RANK", "3", "WORLD_SIZE", "8", "LOCAL_RANK", "1"), 3, 8, 1);
    assert_rank(WITH("OMPI_COMM_WORLD_RANK", "4", "OMPI_COMM_WORLD_SIZE", "5", "OMPI_COMM_WORLD_LOCAL_RANK", "0"), 4, 5,
                0);
    assert_rank(WITH("PMI_RANK", "6", "PMI_SIZE", "7"), 6, 7, -1);
    assert_rank(WITH("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_LOCALID", "0"), 0, 2, 0);
}

static void torchruns_counts_before_that_of_what_started_it(void **state)
{
    (void)state;
    assert_rank(WITH("SLURM_PROCID", "0", "RANK", "9"), 9, -1, -1);
}

static void what_is_no_number_is_not_known(void **state)
{
    (void)state;
    assert_rank(WITH("HOME", "/"), -1, -1, -1);
    assert_rank(WITH("RANK", ""), -1, -1, -1);
    assert_rank(WITH("RANK", "-1"), -1, -1, -1);
    assert_rank(WITH("RANK", "3x"), -1, -1, -1);
    assert_rank(WITH("RANK", "99999999999"), -1, -1, -1);
    assert_rank(WITH("RANK", "x", "PMI_RANK", "2"), 2, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_starter_of_jobs_is_known),
        cmocka_unit_test(torchruns_counts_before_that_of_what_started_it),
        cmocka_unit_test(what_is_no_number_is_not_known),
    };
    return cmocka_run_group_tests_name("common/rank", tests, NULL, NULL);
}
