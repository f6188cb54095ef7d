#include "agent/dispatch/registry.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit.h"

static uint64_t *counter; /* shared with children */

UNIT_FIXTURE(begin)
{
    fork_watch_begin();
    counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fork_watch_count(counter);
    return counter == MAP_FAILED ? -1 : 0;
}

/* What RUN gives in a child that no handler is called in. */
static int in_child(int (*run)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

UNIT_TEST(the_process_itself_is_not_turned_away)
{
    fork_watch_begin(); /* again, without effect */
    assert_int_equal(fork_generation(), 1);
    assert_false(fork_unannounced());
    assert_false(fork_turned_away());
    assert_int_equal(*counter, 0);
}

static int call_three_times(void)
{
    int turned_away = fork_unannounced();
    for (int i = 0; i < 3; i++)
        turned_away += fork_turned_away();
    return fork_generation() == 0 ? turned_away : 100;
}

UNIT_TEST(calls_of_a_child_that_was_not_announced_are_counted)
{
    *counter = 0;
    assert_int_equal(in_child(call_three_times), 4);
    assert_int_equal(*counter, 3);
    assert_false(fork_unannounced());
}

static int call_in_grandchild(void)
{
    return in_child(call_three_times);
}

UNIT_TEST(so_are_those_of_its_child)
{
    *counter = 0;
    assert_int_equal(in_child(call_in_grandchild), 4);
    assert_int_equal(*counter, 3);
}

static int announced(void)
{
    fork_watch_announced();
    return fork_turned_away() || fork_generation() != 2 || in_child(call_three_times) != 4;
}

UNIT_TEST(an_announced_child_is_a_process_of_its_own_and_counts_nothing_in_its_parent)
{
    *counter = 0;
    assert_int_equal(in_child(announced), 0);
    assert_int_equal(*counter, 0);
}

UNIT_MAIN(begin, NULL)
