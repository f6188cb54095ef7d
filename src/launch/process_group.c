/* The witness, the watcher and the job control that the header describes. */
#include "launch/process_group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

/* Who signals processes one by one, as systemd and Slurm do, has reached the witness this long after us, or is still
 * running then. */
#define SWEEP_NS (20 * NS_PER_MS)
#define SWEEP_MOST_NS (250 * NS_PER_MS)
#define ANSWER_S 2 /* a witness that is silent for longer has been stopped for itself */

static sigset_t only(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

static bool is_pending(int number)
{
    sigset_t set;
    return sigpending(&set) == 0 && sigismember(&set, number);
}

/* Takes one signal NUMBER that waits for this process. */
static bool take(int number)
{
    const struct timespec at_once = {0};
    sigset_t set = only(number);
    return sigtimedwait(&set, NULL, &at_once) == number;
}

/* --- the helpers --- */

/* Turns this child into a helper that holds INPUT as 0 and, if they are not negative, OUTPUT as 1 and 2. */
static void become_helper(const char *name, int input, int output, bool keeps_errors)
{
    dup2(input, STDIN_FILENO);
    if (output >= 0)
        dup2(output, STDOUT_FILENO);
    else
        close(STDOUT_FILENO);
    if (!keeps_errors)
        close(STDERR_FILENO);
    closefrom(STDERR_FILENO + 1);
    prctl(PR_SET_NAME, "(signals)");
    char *first = program_invocation_name;
    if (name > first && (uintptr_t)name - (uintptr_t)first < (1 << 20)) /* both in this process's arguments */
        memset(first, 0, (size_t)(name - first));
}

/* Answers for each number that is asked whether that signal waits, and takes it. The end of the questions: the launcher
 * was killed, and this process was not; the watcher gets a byte. */
static _Noreturn void be_witness(void)
{
    unsigned char number;
    while (read(STDIN_FILENO, &number, 1) == 1) {
        char answer = take(number);
        if (write(STDIN_FILENO, &answer, 1) != 1)
            break;
    }
    _exit(write(STDOUT_FILENO, "", 1) != 1);
}

/* Returns the parent of PID, and its state in *STATE; 0: not known. */
static pid_t parent_of(pid_t pid, char *state)
{
    char path[32], text[128] = "";
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int file = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    const char *name_end = got > 0 ? strrchr(text, ')') : NULL;
    if (file >= 0)
        close(file);
    return name_end && sscanf(name_end, ") %c %d", state, &parent) == 2 ? parent : 0;
}

#define ANCESTORS_MOST 8

/* Prints MESSAGE to stderr. If nobody reads it any more, as after MPICH's launcher has killed its ranks and ended,
 * prints it to the stderr of the nearest of ANCESTORS that lives. */
static bool print_last(const char *message, const pid_t *ancestors)
{
    size_t length = strlen(message);
    bool written = write(STDERR_FILENO, message, length) >= 0;
    for (int i = 0; !written && i < ANCESTORS_MOST && ancestors[i] > 1; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)ancestors[i]);
        int file = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
        written = file >= 0 && write(file, message, length) >= 0;
    }
    return written;
}

static _Noreturn void be_watcher(const struct process_group *group, const char *message)
{
    char alone, state;
    pid_t ancestors[ANCESTORS_MOST], above = getppid();
    for (int i = 0; i < ANCESTORS_MOST; i++)
        above = ancestors[i] = parent_of(above, &state);
    setsid();
    if (read(STDIN_FILENO, &alone, 1) == 0 && group->apart && !group->keep)
        kill(-group->child, SIGKILL); /* our group was killed as a whole: it would have been the program's */
    _exit(message && !print_last(message, ancestors));
}

void process_group_begin(struct process_group *group, const char *name)
{
    int ends[2];
    const struct timeval limit = {.tv_sec = ANSWER_S};
    group->leads = getpgrp() == getpid();
    group->terminal = group->leads ? open("/dev/tty", O_RDWR | O_CLOEXEC) : -1;
    group->witness = group->watcher[0] = group->watcher[1] = -1;
    if (pipe2(group->watcher, O_CLOEXEC) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    group->helpers[WITNESS] = fork();
    if (group->helpers[WITNESS] == 0) {
        become_helper(name, ends[1], group->watcher[1], false);
        be_witness();
    }
    close(ends[1]);
    group->witness = ends[0];
}

/* --- the terminal --- */

/* Whether the program may be alone in this process's group: other parts of a pipeline are in it too. */
static bool is_piped(void)
{
    struct stat file;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)))
            return true;
    return false;
}

static bool has_terminal(const struct process_group *group)
{
    return group->terminal >= 0 && tcgetpgrp(group->terminal) == getpgrp();
}

/* SIGTTOU is held, so this works from the background too. */
static void give_terminal(const struct process_group *group)
{
    if (has_terminal(group))
        tcsetpgrp(group->terminal, getpgid(group->child));
}

void process_group_place(struct process_group *group, pid_t child, const char *name, const char *message)
{
    group->child = child;
    group->apart = group->terminal >= 0 && !is_piped() && setpgid(child, child) == 0;
    if (group->apart)
        give_terminal(group);
    if (group->watcher[0] < 0)
        return;
    group->helpers[WATCHER] = fork();
    if (group->helpers[WATCHER] == 0) {
        become_helper(name, group->watcher[0], -1, true);
        be_watcher(group, message);
    }
    close(group->watcher[0]);
}

void process_group_end(struct process_group *group)
{
    pid_t front = group->terminal >= 0 ? tcgetpgrp(group->terminal) : -1;
    if (front > 0 && (front == group->child || (kill(-front, 0) != 0 && errno == ESRCH)))
        tcsetpgrp(group->terminal, getpgrp());
}

void process_group_reaped(struct process_group *group, pid_t helper)
{
    for (int i = 0; i < HELPER_COUNT; i++)
        if (group->helpers[i] == helper)
            group->helpers[i] = 0;
}

void process_group_release(struct process_group *group)
{
    for (int i = HELPER_COUNT - 1; i >= 0; i--) /* the watcher first: it would notice the witness's end */
        if (group->helpers[i] > 0 && kill(group->helpers[i], SIGKILL) == 0)
            waitpid(group->helpers[i], NULL, 0);
    memset(group->helpers, 0, sizeof(group->helpers));
}

/* --- signals --- */

/* Takes signal NUMBER from the witness. False: none waits there. */
static bool ask_witness(struct process_group *group, int number)
{
    unsigned char question = (unsigned char)number;
    char answer = 0;
    if (group->witness < 0)
        return false;
    /* The kernel signals the processes of a group under a lock that setpgid() takes, too: when this returns, a signal
     * of the group that this process has got has reached the witness. It changes nothing. */
    setpgid(0, getpgrp());
    if (write(group->witness, &question, 1) == 1 && read(group->witness, &answer, 1) == 1)
        return answer;
    close(group->witness);
    group->witness = -1;
    return false;
}

/* Whether others than this process got the signal as well. timeout(1) signals its child and then its group: what comes
 * twice while the witness is asked counts once. */
static bool was_for_all(struct process_group *group, const siginfo_t *signal)
{
    const struct timespec moment = {.tv_nsec = NS_PER_MS};
    int number = signal->si_signo;
    uint64_t begun = clock_monotonic(), waited = 0;
    bool by_kernel = signal->si_code > 0;
    if (group->witness < 0) /* the kernel's are of the terminal, for the group, but for a hang-up */
        return by_kernel && !(getsid(0) == getpid() && (number == SIGHUP || number == SIGCONT));
    while (!ask_witness(group, number)) {
        char state = 0; /* of who sent it: it waits for a processor, has one, or waits for a disk */
        parent_of(signal->si_pid, &state);
        bool runs = state == 'R' || state == 'D';
        if (by_kernel || group->witness < 0 || waited > SWEEP_MOST_NS || (waited > SWEEP_NS && !runs))
            return false;
        nanosleep(&moment, NULL);
        waited = clock_monotonic() - begun;
    }
    do
        setpgid(0, getpgrp()); /* as above: what the witness has got has reached this process */
    while (take(number) && (ask_witness(group, number), true));
    return true;
}

static bool stops(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

void process_group_pass_on(struct process_group *group, const siginfo_t *signal)
{
    int number = signal->si_signo;
    bool all = was_for_all(group, signal);
    pid_t theirs = getpgid(group->child), to = group->child;
    if (group->apart)
        give_terminal(group);
    if (stops(number) && is_pending(SIGCONT)) /* which undoes the stop */
        return;
    if (all && (theirs == getpgrp() || !group->leads)) /* not led: the program has left the group, as without us */
        return;
    if (all && theirs > 0)
        to = -theirs;
    verbose("signal %d passed on to process %s%d", number, to < 0 ? "group " : "", to < 0 ? -(int)to : (int)to);
    if (signal->si_code == SI_QUEUE && to > 0)
        sigqueue(to, number, signal->si_value);
    else
        kill(to, number);
}

/* Stops this process as SIGNAL would without us: not if its group is orphaned, as there is nobody to continue it then,
 * and not if the group was continued after the program had stopped. */
static void stop(struct process_group *group, int signal)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    sigset_t set = only(signal);
    sigaction(signal, &standard, &before);
    raise(signal); /* it is held until sigprocmask(), and SIGCONT takes it back */
    if (ask_witness(group, SIGCONT)) {
        take(SIGCONT);
        take(signal);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(signal, &before, NULL);
}

void process_group_stopped(struct process_group *group, int signal)
{
    pid_t theirs = getpgid(group->child);
    bool elsewhere = theirs > 0 && theirs != getpgrp();
    if (!stops(signal)) /* SIGSTOP was sent to that process only */
        return;
    if (!elsewhere || signal == SIGTSTP || !has_terminal(group))
        stop(group, signal);
    if (!elsewhere || !group->leads || is_pending(SIGCONT)) /* which is passed on */
        return;
    give_terminal(group);
    kill(-theirs, SIGCONT);
}
