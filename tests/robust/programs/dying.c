/*
 * dying HOW [ROUNDS]: works (rounds.h), and ends as HOW says.
 *
 * HOW may be led by "module-", then the kernels are functions of a module, and not of a library, whose kernels are
 * loaded by their first launch; and by "early-", then all are got at the begin, a while before the first is launched.
 */
#include "rounds.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- ways to end --- */

static void by_exit(void)
{
    exit(3);
}

static void by_underscore_exit(void)
{
    _exit(4);
}

static void by_quick_exit(void)
{
    quick_exit(5);
}

static char *volatile nowhere = (char *)0x10;

static void by_fault(void)
{
    *(volatile char *)nowhere = 1;
}

static void *fault(void *unused)
{
    (void)unused;
    by_fault();
    return NULL;
}

static void by_fault_of_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fault, NULL);
    pthread_join(thread, NULL);
}

static void (*volatile nothing)(void);

__attribute__((noinline)) static void by_call_of_nothing(void)
{
    nothing();
    work.next++; /* or the call would be a jump */
}

static void by_no_file_behind_memory(void)
{
    int fd = open("empty", O_RDWR | O_CREAT, 0600);
    volatile char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *at = 1;
}

static void by_division(void)
{
    volatile int zero = 0;
    raise(SIGFPE);
    work.next = (unsigned)(1 / zero);
}

static void by_no_instruction(void)
{
#if defined(__aarch64__)
    __asm__ volatile(".inst 0"); /* __builtin_trap() is a breakpoint there */
#else
    __builtin_trap();
#endif
}

static void by_stack(void)
{
    volatile char space[65536];
    space[0] = (char)work.next++;
    if (work.next != 0)
        by_stack();
    space[1] = space[0];
}

static void by_signal(int number)
{
    raise(number);
}

static void by_kill(void)
{
    by_signal(SIGKILL);
}

static void by_term(void)
{
    by_signal(SIGTERM);
}

static void by_sys(void)
{
    by_signal(SIGSYS);
}

static void said(int number, siginfo_t *info, void *context)
{
    (void)context;
    char text[] = "its own handler: address at 0\n";
    text[sizeof(text) - 3] = (char)(info->si_addr == nowhere ? '1' : '0');
    if (number == SIGSEGV && write(STDOUT_FILENO, text, sizeof(text) - 1) > 0)
        _exit(7);
    _exit(8);
}

static void by_own_handler(void)
{
    struct sigaction action = {.sa_sigaction = said, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    by_fault();
}

/* As many libraries do: says something, then calls the handler that was there before. */
static struct sigaction before;
static void says_and_passes_on(int number, siginfo_t *info, void *context)
{
    static const char text[] = "passed on\n";
    ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);
    (void)written;
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void by_chained_handler(void)
{
    struct sigaction action = {.sa_sigaction = says_and_passes_on, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, &before);
    by_fault();
}

static void by_exec(void)
{
    execlp("sh", "sh", "-c", "exit 6", NULL);
}

static void by_exec_of_cuda(void)
{
    execl("/proc/self/exe", "dying", "again", "5", NULL);
}

static void by_reset(void)
{
    CUdevice device;
    MUST(cuCtxGetDevice(&device));
    MUST(cuStreamSynchronize(work.stream));
    MUST(cuDevicePrimaryCtxReset(device));
    _exit(4);
}

static void by_context(void)
{
    CUcontext context;
    MUST(cuCtxGetCurrent(&context));
    MUST(cuDevicePrimaryCtxRelease(0));
    _exit(4);
}

/* Another tool detaches CUPTI from the process. */
static void by_finalize(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    int (*finalize)(void) = library ? (int (*)(void))dlsym(library, "cuptiFinalize") : NULL;
    if (finalize)
        finalize();
    usleep(50000);
    _exit(finalize ? 4 : 9);
}

static void by_waiting(void)
{
    MUST(cuStreamSynchronize(work.stream));
    exit(3);
}

/* With pauses, for the trace is to be looked at. */
static void never(void)
{
    for (unsigned i = 1;; i++) {
        one_round();
        if (i % 8 == 0)
            usleep(500);
    }
}

static const struct {
    const char *name;
    void (*end)(void);
} ways[] = {
    {"exit", by_exit},
    {"_exit", by_underscore_exit},
    {"quick_exit", by_quick_exit},
    {"abort", abort},
    {"segv", by_fault},
    {"segv-thread", by_fault_of_a_thread},
    {"nothing", by_call_of_nothing},
    {"bus", by_no_file_behind_memory},
    {"fpe", by_division},
    {"ill", by_no_instruction},
    {"stack", by_stack},
    {"kill", by_kill},
    {"term", by_term},
    {"sys", by_sys},
    {"handler", by_own_handler},
    {"chained", by_chained_handler},
    {"exec", by_exec},
    {"exec-cuda", by_exec_of_cuda},
    {"reset", by_reset},
    {"context", by_context},
    {"finalize", by_finalize},
    {"wait", by_waiting},
    {"again", by_underscore_exit},
    {"never", never},
};

/* Whether HOW is led by PREFIX, which is taken off. */
static bool is_led(const char **how, const char *prefix)
{
    bool led = strncmp(*how, prefix, strlen(prefix)) == 0;
    *how += led ? strlen(prefix) : 0;
    return led;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    bool module = is_led(&how, "module-"), early = is_led(&how, "early-");
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
    done = open_done();
    begin_work(module);
    if (early)
        get_all();
    for (unsigned i = 0; i < rounds; i++)
        one_round();
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (strcmp(how, ways[i].name) == 0)
            ways[i].end();
    fprintf(stderr, "dying: no way '%s'\n", how);
    return 9;
}
