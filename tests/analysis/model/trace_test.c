#include "tests/unit.h"

#include "analysis/model/trace.h"

static int count(void *context)
{
    ++*(int *)context;
    return 0;
}

static int count_and_fail(void *context)
{
    ++*(int *)context;
    return -1;
}

UNIT_TEST(every_job_is_done_once)
{
    for (unsigned workers = 0; workers <= 16; workers += 4) {
        int done[9] = {0};
        struct job jobs[9];
        for (int i = 0; i < 9; i++)
            jobs[i] = (struct job){count, &done[i]};
        assert_int_equal(jobs_run(jobs, 9, workers), 0);
        assert_int_equal(jobs_run(jobs, 0, workers), 0);
        for (int i = 0; i < 9; i++)
            assert_int_equal(done[i], 1);
    }
}

UNIT_TEST(a_job_that_fails_is_reported)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        int done[3] = {0};
        const struct job jobs[] = {{count, &done[0]}, {count_and_fail, &done[1]}, {count, &done[2]}};
        assert_int_equal(jobs_run(jobs, 3, workers), -1);
        assert_int_equal(done[0], 1);
        assert_int_equal(done[1], 1);
    }
}

UNIT_MAIN(NULL, NULL)
