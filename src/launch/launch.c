/*
 * Forks and executes the program and waits for it. The child waits on a pipe until the launcher is ready and reports
 * through another one if exec failed. Signals that arrive meanwhile are passed on or end the run.
 */
#include "launch/launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

/* The child reads its enum launch_way from `go`. On `failure` it sends errno if exec failed, or GONE_PLAIN if it tries
 * again without the environment that inside() set. Both pipes close at exec. */
#define GONE_PLAIN (-1)
struct pipes {
    int go[2];
    int failure[2];
};

static int open_pipes(struct pipes *pipes)
{
    if (pipe2(pipes->go, O_CLOEXEC) != 0)
        return error("cannot make a pipe: %s", strerror(errno));
    if (pipe2(pipes->failure, O_CLOEXEC) != 0) {
        error("cannot make a pipe: %s", strerror(errno));
        close(pipes->go[0]);
        close(pipes->go[1]);
        return -1;
    }
    return 0;
}

static ssize_t read_whole(int fd, void *data, size_t size)
{
    ssize_t got;
    do
        got = read(fd, data, size);
    while (got < 0 && errno == EINTR);
    return got;
}

static void write_whole(int fd, const void *data, size_t size)
{
    while (write(fd, data, size) < 0 && errno == EINTR)
        continue;
}

/* Copies the list of environment variables; setenv() does not free or change their texts. Returns NULL without memory.
 */
static char **keep_environment(void)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **kept = calloc(count + 1, sizeof(*kept));
    for (size_t i = 0; kept && i < count; i++)
        kept[i] = environ[i];
    return kept;
}

static _Noreturn void be_child(struct launch *launch, const struct pipes *pipes, pid_t launcher)
{
    close(pipes->go[1]); /* so that the child reads an end of file if the launcher dies */
    char way = LAUNCH_CANCELLED;
    if (read_whole(pipes->go[0], &way, 1) != 1 || way == LAUNCH_CANCELLED)
        _exit(EXIT_OURS);
    signals_restore(&launch->signals);
    if (!launch->group.keep) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != launcher)
            raise(SIGKILL);
    }
    char **before = way == LAUNCH_PREPARED ? keep_environment() : NULL;
    if (way == LAUNCH_PREPARED)
        launch->inside(launch->context);
    execvp(launch->path, launch->argv); /* the path has a slash: no search, but scripts without #! work */
    int failure = errno;
    if (failure == E2BIG && before) {
        int plain = GONE_PLAIN;
        write_whole(pipes->failure[1], &plain, sizeof(plain));
        environ = before;
        execvp(launch->path, launch->argv);
        failure = errno;
    }
    write_whole(pipes->failure[1], &failure, sizeof(failure));
    _exit(EXIT_NOT_RUN);
}

static int follow(struct launch *launch, struct pipes *pipes, pid_t child)
{
    process_group_place(&launch->group, child, launch->argv[0], launch->killed);
    char way = (char)launch->before(launch->context, child);
    write_whole(pipes->go[1], &way, 1);
    int failure = 0;
    ssize_t got = read_whole(pipes->failure[0], &failure, sizeof(failure));
    if (got == (ssize_t)sizeof(failure) && failure == GONE_PLAIN) {
        launch->plain = true;
        got = read_whole(pipes->failure[0], &failure, sizeof(failure));
    }
    if (got == 0 && way != LAUNCH_CANCELLED)
        verbose("started '%s' as process %d", launch->path, (int)child);
    launch->status = signals_wait(&launch->signals, &launch->group);
    launch->ended = clock_now();
    process_group_end(&launch->group);
    if (way == LAUNCH_CANCELLED)
        return EXIT_OURS;
    if (got != (ssize_t)sizeof(failure))
        return 0;
    if (failure == ENOENT)
        error("cannot run '%s': the interpreter or loader that it needs does not exist", launch->path);
    else
        error("cannot run '%s': %s", launch->path, strerror(failure));
    return EXIT_NOT_RUN;
}

static struct process_group *group_in_use; /* the group of the current launch, for signal handlers */

void launch_say_nothing(void)
{
    if (group_in_use)
        process_group_release(group_in_use);
}

void launch_release(struct launch *launch)
{
    group_in_use = NULL;
    process_group_release(&launch->group);
}

int launch_run(struct launch *launch)
{
    struct pipes pipes;
    if (open_pipes(&pipes) < 0)
        return EXIT_OURS;
    signals_hold(&launch->signals);
    process_group_begin(&launch->group, launch->argv[0]);
    group_in_use = &launch->group;
    launch->started = clock_now();
    pid_t launcher = getpid(), child = fork();
    int result = EXIT_OURS;
    if (child == 0)
        be_child(launch, &pipes, launcher);
    close(pipes.failure[1]);
    if (child < 0)
        error("cannot start a process: %s", strerror(errno));
    else
        result = follow(launch, &pipes, child);
    signals_drain(&launch->signals);
    close(pipes.go[0]);
    close(pipes.go[1]);
    close(pipes.failure[0]);
    return result;
}

void ending_describe(int status, char *text, size_t space)
{
    if (WIFSIGNALED(status))
        snprintf(text, space, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, space, "exit %d", WEXITSTATUS(status));
}

int ending_pass_on(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    /* The limit prevents core files, the flag prevents dumps to a pipe that core_pattern names. */
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number; /* only reached for a signal that the kernel blocks */
}

/* Signals that are not blocked: faults of this process, and SIGPIPE and SIGXFSZ, which its own writes cause. */
static const int not_held[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE, SIGXFSZ};

static const struct {
    int number;
    void (*handler)(int);
} ours[] = {{SIGCHLD, SIG_DFL}, {SIGPIPE, SIG_IGN}, {SIGXFSZ, SIG_IGN}};
#define OURS_COUNT (sizeof(ours) / sizeof(*ours))
static_assert(OURS_COUNT == sizeof(((struct signals *)0)->inherited) / sizeof(struct sigaction), "space for each");

void signals_hold(struct signals *signals)
{
    sigfillset(&signals->held);
    for (size_t i = 0; i < sizeof(not_held) / sizeof(*not_held); i++)
        sigdelset(&signals->held, not_held[i]);
    sigprocmask(SIG_BLOCK, &signals->held, &signals->inherited_mask);
    for (size_t i = 0; i < OURS_COUNT; i++) {
        struct sigaction action = {.sa_handler = ours[i].handler};
        sigaction(ours[i].number, &action, &signals->inherited[i]);
    }
}

void signals_restore(const struct signals *signals)
{
    for (size_t i = 0; i < OURS_COUNT; i++)
        sigaction(ours[i].number, &signals->inherited[i], NULL);
    sigprocmask(SIG_SETMASK, &signals->inherited_mask, NULL);
}

/* Handles the changes of children since the last call. Returns true if the group's child has ended. Reaps orphans too,
 * which this process inherits if it is process 1 of a container or a subreaper. */
static bool take_changes(struct process_group *group, int *status)
{
    bool ended = false;
    for (;;) {
        int change;
        pid_t changed = waitpid(-1, &change, WNOHANG | WUNTRACED);
        if (changed < 0 && errno == EINTR)
            continue;
        if (changed <= 0)
            return ended;
        if (!WIFSTOPPED(change))
            process_group_reaped(group, changed);
        if (changed != group->child)
            continue;
        ended = !WIFSTOPPED(change);
        if (ended)
            *status = change;
        else
            process_group_stopped(group, WSTOPSIG(change));
    }
}

int signals_wait(const struct signals *signals, struct process_group *group)
{
    int status = 0;
    while (!take_changes(group, &status)) {
        siginfo_t signal;
        int number = sigwaitinfo(&signals->held, &signal);
        if (number > 0 && number != SIGCHLD)
            process_group_pass_on(group, &signal);
    }
    return status;
}

void signals_drain(const struct signals *signals)
{
    struct timespec at_once = {0};
    while (sigtimedwait(&signals->held, NULL, &at_once) > 0 || errno == EINTR)
        continue;
}

bool signals_pause(const struct signals *signals, uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    int number = sigtimedwait(&signals->held, NULL, &limit), status;
    struct process_group none = {0};
    take_changes(&none, &status); /* reaps orphans only: the child has ended */
    if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
        raise(SIGSTOP);
    return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

static const char *last_message; /* for the signal handler, which has no context argument */
static void (*tidy_up)(void);

static void end(int number)
{
    if (tidy_up)
        tidy_up();
    launch_say_nothing();
    ssize_t written = write(STDERR_FILENO, last_message, strlen(last_message));
    (void)written; /* nowhere left to complain */
    raise(number); /* SA_RESETHAND has removed the handler; the signal is delivered when this function returns */
}

void signals_end_with(const struct signals *signals, void (*tidy)(void), const char *message)
{
    static const int asking[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    tidy_up = tidy;
    last_message = message;
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++) {
        struct sigaction inherited;
        if (sigaction(asking[i], NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
            sigaction(asking[i], &action, NULL);
    }
    sigprocmask(SIG_SETMASK, &signals->inherited_mask, NULL);
}
