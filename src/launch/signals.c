#include "launch/signals.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

/* Left alone: what this process brings upon itself, and SIGPIPE and SIGXFSZ, which its own writes cause. */
static const int not_held[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE, SIGXFSZ};

static const struct {
    int number;
    void (*handler)(int);
} ours[] = {{SIGCHLD, SIG_DFL}, {SIGPIPE, SIG_IGN}, {SIGXFSZ, SIG_IGN}};
#define OURS_COUNT (sizeof(ours) / sizeof(*ours))
static_assert(OURS_COUNT == sizeof(((struct signals *)0)->inherited) / sizeof(struct sigaction), "room for each");

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

static void pass_on(pid_t child, const siginfo_t *signal)
{
    if (signal->si_code > 0) /* the kernel's, for the whole group: SI_KERNEL */
        return;
    verbose("signal %d passed on to process %d", signal->si_signo, (int)child);
    if (signal->si_code == SI_QUEUE)
        sigqueue(child, signal->si_signo, signal->si_value);
    else
        kill(child, signal->si_signo);
}

/* A stop from the terminal's side is a stop of the whole job. SIGSTOP is somebody's wish for that process alone. */
static bool stops_job(int status)
{
    int signal = WSTOPSIG(status);
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* What happened to the child since the last call. True: it has ended. Orphans come to us as to process 1 of a
 * container, or to a subreaper: the ends of these are taken too, or they would stay zombies. */
static bool take_changes(pid_t child, int *status)
{
    bool ended = false;
    for (;;) {
        int change;
        pid_t changed = waitpid(-1, &change, WNOHANG | WUNTRACED);
        if (changed < 0 && errno == EINTR)
            continue;
        if (changed <= 0)
            return ended;
        if (changed != child)
            continue;
        ended = !WIFSTOPPED(change);
        if (ended)
            *status = change;
        else if (stops_job(change))
            raise(SIGSTOP);
    }
}

int signals_wait(const struct signals *signals, pid_t child)
{
    int status = 0;
    while (!take_changes(child, &status)) {
        siginfo_t signal;
        int number = sigwaitinfo(&signals->held, &signal);
        if (number > 0 && number != SIGCHLD)
            pass_on(child, &signal);
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
    take_changes(0, &status); /* of orphans: the child has ended */
    if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
        raise(SIGSTOP);
    return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

static const char *last_words; /* for the handler, which is given no context */
static void (*tidy_up)(void);

void signals_on_end(void (*tidy)(void))
{
    tidy_up = tidy;
}

static void end(int number)
{
    if (tidy_up)
        tidy_up();
    ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)written; /* nowhere left to complain */
    raise(number); /* the handler is gone already; this waits until it returns */
}

void signals_end_with(const struct signals *signals, const char *message)
{
    static const int asking[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    last_words = message;
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++) {
        struct sigaction inherited;
        if (sigaction(asking[i], NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
            sigaction(asking[i], &action, NULL);
    }
    sigprocmask(SIG_SETMASK, &signals->inherited_mask, NULL);
}
