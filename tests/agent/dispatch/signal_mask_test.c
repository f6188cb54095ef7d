/* Whether signals may be held back, in processes under filters of their own. */
#include "tests/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/spool/process.h"
#include "common/settings.h"
#include "common/spool.h"

static void enter(unsigned call, unsigned action)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(99);
}

/* What signal_mask_probe() returns, less SPOOL_FAILURE_MASK_KILLS - 1, in a process that enters a filter; 100 when the
 * rest is not as it was, 128 and the signal when it dies. */
static int probed_under(unsigned call, unsigned action, int64_t launcher_filters)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        enter(call, action);
        errno = EXDEV;
        int failure = signal_mask_probe(launcher_filters);
        if (errno != EXDEV || signal_mask_allowed() != !failure || waitpid(-1, NULL, __WALL) != -1)
            _exit(100);
        _exit(failure ? failure - SPOOL_FAILURE_MASK_KILLS + 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum { ALLOWED = 0, KILLS = 1, UNKNOWN = SPOOL_FAILURE_MASK_UNKNOWN - SPOOL_FAILURE_MASK_KILLS + 1 };

UNIT_TEST(test_a_filter_that_kills_is_found_in_a_child)
{
    assert_int_equal(probed_under(SYS_rt_sigprocmask, SECCOMP_RET_KILL_PROCESS, -1), KILLS);
    assert_int_equal(probed_under(SYS_rt_sigprocmask, SECCOMP_RET_KILL_THREAD, -1), KILLS);
    assert_int_equal(probed_under(SYS_rt_sigprocmask, SECCOMP_RET_TRAP, -1), KILLS);
}

UNIT_TEST(test_a_filter_that_lets_it_pass_or_refuses_it_does_no_harm)
{
    assert_int_equal(probed_under(SYS_ptrace, SECCOMP_RET_KILL_PROCESS, -1), ALLOWED);
    assert_int_equal(probed_under(SYS_rt_sigprocmask, SECCOMP_RET_ERRNO | EPERM, -1), ALLOWED);
}

static void handle(int number)
{
    (void)number;
    _exit(98);
}

UNIT_TEST(test_the_programs_handler_of_sigsys_does_not_run_in_the_child)
{
    void (*before)(int) = signal(SIGSYS, handle);
    assert_int_equal(probed_under(SYS_rt_sigprocmask, SECCOMP_RET_TRAP, -1), KILLS);
    signal(SIGSYS, before);
}

UNIT_TEST(test_without_a_child_it_is_not_known)
{
    assert_int_equal(probed_under(SYS_clone, SECCOMP_RET_ERRNO | EPERM, -1), UNKNOWN);
}

/* So a filter that kills for the child's making does not matter there. */
UNIT_TEST(test_under_the_launchers_filters_no_child_is_made)
{
    int64_t filters = seccomp_filters();
    if (filters < 0)
        skip();
    assert_int_equal(probed_under(SYS_clone, SECCOMP_RET_KILL_PROCESS, filters + 1), ALLOWED);
    assert_int_equal(probed_under(SYS_clone, SECCOMP_RET_KILL_PROCESS, filters), 128 + SIGSYS);
}

UNIT_MAIN(NULL, NULL)
