#include "tests/unit.h"

#include <signal.h>
#include <sys/wait.h>

#include "launch/launch.h"

/* Runs BODY in a process of its own; gives its status. */
static int in_child(void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void end_by_term(void)
{
    struct signals signals;
    signals_hold(&signals);
    signals_end_with(&signals, NULL, "last line\n");
    raise(SIGTERM);
}

static void be_ended_while_held(void)
{
    struct signals signals;
    signals_hold(&signals);
    raise(SIGTERM);
    signals_drain(&signals);
    signals_end_with(&signals, NULL, "never said\n");
}

static void ignore_hangups(void)
{
    struct signals signals;
    signal(SIGHUP, SIG_IGN); /* as under nohup */
    signals_hold(&signals);
    signals_end_with(&signals, NULL, "never said\n");
    raise(SIGHUP);
}

static void write_to_a_closed_pipe(void)
{
    struct signals signals;
    int pipes[2];
    signals_hold(&signals);
    signals_end_with(&signals, NULL, "never said\n");
    if (pipe(pipes) == 0 && close(pipes[0]) == 0 && write(pipes[1], "x", 1) > 0)
        _exit(1);
}

UNIT_TEST(a_signal_ends_us_with_our_last_words)
{
    unit_stderr_begin();
    int status = in_child(end_by_term);
    const char *text = unit_stderr_end();
    assert_string_equal(text, "last line\n");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

UNIT_TEST(what_came_for_the_program_does_not_end_us_later)
{
    assert_int_equal(in_child(be_ended_while_held), 0);
}

UNIT_TEST(a_signal_that_was_ignored_stays_ignored)
{
    assert_int_equal(in_child(ignore_hangups), 0);
}

UNIT_TEST(writing_to_who_is_gone_does_not_end_us)
{
    assert_int_equal(in_child(write_to_a_closed_pipe), 0);
}

UNIT_MAIN(NULL, NULL)
