#include "tests/unit.h"

#include <signal.h>
#include <sys/wait.h>

#include "launch/launch.h"
#include "launch/program.h"

struct test {
    enum launch_way way;
    pid_t pid;
};

static enum launch_way before(void *context, pid_t pid)
{
    struct test *test = context;
    test->pid = pid;
    return test->way;
}

static int inside(void *context)
{
    (void)context;
    return setenv("LAUNCH_TEST", "inside", 1);
}

/* Runs a shell script; gives what launch_run gives. */
static int run_script(struct launch *launch, struct test *test, const char *script)
{
    static char *argv[] = {(char *)"sh", (char *)"-c", NULL, NULL};
    argv[2] = (char *)script;
    *launch = (struct launch){.path = "/bin/sh", .argv = argv, .context = test, .before = before, .inside = inside};
    int result = launch_run(launch);
    signals_restore(&launch->signals);
    return result;
}

static void expect_status(enum launch_way way, const char *script, const char *words)
{
    struct launch launch;
    struct test test = {.way = way};
    char text[64];
    assert_int_equal(run_script(&launch, &test, script), 0);
    ending_describe(launch.status, text, sizeof(text));
    assert_string_equal(text, words);
}

UNIT_TEST(the_status_is_the_programs)
{
    expect_status(LAUNCH_PLAIN, "exit 0", "exit 0");
    expect_status(LAUNCH_PLAIN, "exit 42", "exit 42");
    expect_status(LAUNCH_PLAIN, "kill -9 $$", "signal 9 (Killed)");
    expect_status(LAUNCH_PLAIN, "kill -SEGV $$", "signal 11 (Segmentation fault)");
}

UNIT_TEST(only_a_prepared_program_sees_our_environment)
{
    expect_status(LAUNCH_PREPARED, "test \"$LAUNCH_TEST\" = inside", "exit 0");
    expect_status(LAUNCH_PLAIN, "test -z \"$LAUNCH_TEST\"", "exit 0");
    assert_null(getenv("LAUNCH_TEST"));
}

UNIT_TEST(a_cancelled_program_does_not_start)
{
    struct launch launch;
    struct test test = {.way = LAUNCH_CANCELLED};
    char script[600];
    const char *folder = unit_directory();
    snprintf(script, sizeof(script), "touch '%s/started'", folder);
    assert_int_equal(run_script(&launch, &test, script), EXIT_OURS);
    snprintf(script, sizeof(script), "%s/started", folder);
    assert_int_not_equal(access(script, F_OK), 0);
    unit_remove(folder);
}

UNIT_TEST(a_file_that_is_no_program_is_reported)
{
    char path[512];
    char *argv[] = {path, NULL};
    const char *folder = unit_directory();
    struct test test = {.way = LAUNCH_PREPARED};
    snprintf(path, sizeof(path), "%s/app", folder);
    unit_write_file(path, "#!/no/such/interpreter\n");
    char command[600];
    snprintf(command, sizeof(command), "chmod +x '%s'", path);
    assert_int_equal(system(command), 0);
    struct launch launch = {.path = path, .argv = argv, .context = &test, .before = before, .inside = inside};
    unit_stderr_begin();
    int result = launch_run(&launch);
    const char *text = unit_stderr_end();
    signals_restore(&launch.signals);
    assert_int_equal(result, EXIT_NOT_RUN);
    assert_contains(text, "interpreter");
    unit_remove(folder);
}

/* In a process of its own: signals that are sent to a launcher, and what it inherited. */
static int in_child(int (*body)(void))
{
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The script sends its parent, the launcher, a signal, and ends by it or by its trap. */
static int signal_is_passed_on(void)
{
    struct launch launch;
    struct test test = {.way = LAUNCH_PLAIN};
    run_script(&launch, &test,
               "trap 'exit 7' USR1; kill -USR1 $PPID; i=0; "
               "while [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); done; exit 1");
    return WIFEXITED(launch.status) && WEXITSTATUS(launch.status) == 7 ? 0 : 1;
}

static int inheritance_is_untouched(void)
{
    struct launch launch;
    struct test test = {.way = LAUNCH_PREPARED};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    for (int number = 1; number < 32; number++) /* the caller of the tests may ignore some */
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &one, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    /* SIGUSR2 (12) is blocked and nothing else; SIGHUP (1) and SIGCHLD (17) are ignored. No shell: it sets
     * SIGCHLD. What make leaves ignored of the C library's own (32, 33) is not ours to judge. */
    char path[4096];
    char *argv[] = {(char *)"awk",
                    (char *)"/^SigBlk/ { blocked = $2 } /^SigIgn/ { ignored = $2 } "
                            "END { exit !(blocked ~ /^0+800$/ && ignored ~ /[08]0010001$/) }",
                    (char *)"/proc/self/status", NULL};
    if (program_find("awk", path, sizeof(path)) != 0)
        return 2;
    launch = (struct launch){.path = path, .argv = argv, .context = &test, .before = before, .inside = inside};
    return launch_run(&launch) == 0 && launch.status == 0 ? 0 : 1;
}

static int death_is_passed_on(void)
{
    struct launch launch;
    struct test test = {.way = LAUNCH_PLAIN};
    run_script(&launch, &test, "kill -ABRT $$");
    return ending_pass_on(launch.status);
}

static int exit_is_passed_on(void)
{
    struct launch launch;
    struct test test = {.way = LAUNCH_PLAIN};
    run_script(&launch, &test, "exit 3");
    return ending_pass_on(launch.status);
}

UNIT_TEST(signals_that_are_sent_reach_the_program)
{
    assert_int_equal(in_child(signal_is_passed_on), 0);
}

UNIT_TEST(the_program_inherits_what_we_inherited)
{
    assert_int_equal(in_child(inheritance_is_untouched), 0);
}

UNIT_TEST(we_end_as_the_program_did)
{
    int status = in_child(death_is_passed_on);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_false(WCOREDUMP(status));
    status = in_child(exit_is_passed_on);
    assert_int_equal(WEXITSTATUS(status), 3);
}

UNIT_MAIN(NULL, NULL)
