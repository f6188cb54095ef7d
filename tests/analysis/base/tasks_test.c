#include "tests/unit.h"

#include "analysis/base/tasks.h"

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

UNIT_TEST(every_task_is_done_once)
{
    for (unsigned workers = 0; workers <= 16; workers += 4) {
        int done[9] = {0};
        struct task tasks[9];
        for (int i = 0; i < 9; i++)
            tasks[i] = (struct task){count, &done[i]};
        assert_int_equal(tasks_run(tasks, 9, workers), 0);
        assert_int_equal(tasks_run(tasks, 0, workers), 0);
        for (int i = 0; i < 9; i++)
            assert_int_equal(done[i], 1);
    }
}

UNIT_TEST(a_task_that_fails_is_reported)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        int done[3] = {0};
        const struct task tasks[] = {{count, &done[0]}, {count_and_fail, &done[1]}, {count, &done[2]}};
        assert_int_equal(tasks_run(tasks, 3, workers), -1);
        assert_int_equal(done[0], 1);
        assert_int_equal(done[1], 1);
    }
}

UNIT_MAIN(NULL, NULL)
