#include "tests/unit.h"

#include <signal.h>
#include <stdatomic.h>

#include "common/threads.h"

static atomic_int blocked, open_to_faults;

static void *look(void *context)
{
    sigset_t set;
    (void)context;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    blocked += sigismember(&set, SIGTERM) && sigismember(&set, SIGINT) && sigismember(&set, SIGCHLD);
    open_to_faults += !sigismember(&set, SIGSEGV) && !sigismember(&set, SIGBUS);
    return NULL;
}

static void threads_leave_the_process_its_signals(void **state)
{
    (void)state;
    pthread_t threads[4];
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(threads_start(threads, 4, look, NULL), 4);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(blocked, 4);
    assert_int_equal(open_to_faults, 4);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_leave_the_process_its_signals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
