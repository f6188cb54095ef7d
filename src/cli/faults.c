/*
 * Runs the command on a large stack (a context of ucontext.h, so that the thread stays the same), and handles faults
 * on a stack of their own, because the fault may be the end of the other one.
 */
#include "cli/faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)8 << 20) /* the usual limit */
#define GUARD_BYTES ((size_t)64 << 10)

static struct {
    int (*call)(int argc, char **argv);
    int argc, status;
    char **argv;
} called; /* makecontext() passes numbers only */

static void call(void)
{
    called.status = called.call(called.argc, called.argv);
}

int call_with_stack(int (*function)(int argc, char **argv), int argc, char **argv)
{
    static ucontext_t before, own;
    struct rlimit limit;
    pthread_attr_t threads;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_BYTES)
        return function(argc, argv);
    if (pthread_attr_init(&threads) == 0 && pthread_attr_setstacksize(&threads, STACK_BYTES) == 0)
        pthread_setattr_default_np(&threads);
    char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&own) != 0)
        return function(argc, argv);
    mprotect(stack, GUARD_BYTES, PROT_NONE);
    called.call = function;
    called.argc = argc;
    called.argv = argv;
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = STACK_BYTES;
    own.uc_link = &before;
    makecontext(&own, call, 0);
    return swapcontext(&before, &own) == 0 ? called.status : function(argc, argv);
}

/* --- faults --- */

static struct {
    const char *volatile message; /* NULL: an end is as it should be */
    void (*tidy)(void);
    int status;
} last_words;

/* NUMBER: of the signal; 0: a library called exit(). */
static void end(int number)
{
    const char *message = last_words.message;
    static const char fault[] = "gputrace: a fault: memory or stack may be short ('ulimit -a')\n";
    last_words.message = NULL;
    if (message && last_words.tidy)
        last_words.tidy();
    ssize_t written = number ? write(STDERR_FILENO, fault, sizeof(fault) - 1) : 0;
    written += message ? write(STDERR_FILENO, message, strlen(message)) : 0;
    (void)written; /* nowhere left to complain */
    _exit(last_words.status);
}

static void end_at_exit(void)
{
    if (last_words.message)
        end(0);
}

static void handle_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char space[64 << 10];
    const stack_t stack = {.ss_sp = space, .ss_size = sizeof(space)};
    struct sigaction action = {.sa_handler = end, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)}, before;
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        if (sigaction(faults[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) /* else a sanitizer's */
            sigaction(faults[i], &action, NULL);
    atexit(end_at_exit);
}

void end_at_fault(void (*tidy)(void), const char *message, int status)
{
    static bool handled;
    last_words.tidy = tidy;
    last_words.status = status;
    last_words.message = message;
    if (message && !handled)
        handle_faults();
    handled = handled || message;
}
