#include "launch/ending.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void ending_describe(int status, char *text, size_t room)
{
    if (WIFSIGNALED(status))
        snprintf(text, room, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, room, "exit %d", WEXITSTATUS(status));
}

int ending_pass_on(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    /* The limit keeps core files away, the flag those handlers that a pipe in core_pattern feeds. */
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number; /* not reached but for a signal that the kernel keeps from us */
}
