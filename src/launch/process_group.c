/* Implements the witness, the watcher and the job control that process_group.h describes. */
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

/* A sender that signals the processes of a job one by one, as systemd and Slurm do, reaches the witness at most
 * SWEEP_NS after this process, unless the sender is slow: while it runs, the launcher waits up to SWEEP_MOST_NS. */
#define SWEEP_NS (20 * NS_PER_MS)
#define SWEEP_MOST_NS (250 * NS_PER_MS)
#define ANSWER_S 2 /* a witness that is silent for longer was stopped by a signal to itself */

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

/* Removes a pending signal NUMBER of this process. Returns whether there was one. */
static bool take(int number)
{
    const struct timespec at_once = {0};
    sigset_t set = only(number);
    return sigtimedwait(&set, NULL, &at_once) == number;
}

/* --- the helpers --- */

/* Turns this child into a helper with INPUT as standard input and OUTPUT, if it is not negative, as standard output. */
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
    if (name > first && (uintptr_t)name - (uintptr_t)first < (1 << 20)) /* if both lie in this process's arguments */
        memset(first, 0, (size_t)(name - first));
}

/* For each signal number that the launcher sends, answers whether that signal is pending here, and removes it. The
 * input ends if the launcher was killed alone: then sends the watcher a byte, which means that the group lives on. */
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

/* Returns the parent of PID and sets *STATE to the state letter of PID. Returns 0 if they cannot be read. */
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

/* Prints MESSAGE to stderr. If nobody reads that pipe any more, as after MPICH's launcher has killed its ranks and
 * ended, prints MESSAGE to the stderr of the nearest of ANCESTORS that lives. */
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
        kill(-group->child, SIGKILL); /* our whole group was killed; without gputrace the program would be in it */
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

static bool has_terminal(const struct process_group *group)
{
    return group->terminal >= 0 && tcgetpgrp(group->terminal) == getpgrp();
}

/* Passes the terminal to the program's group. SIGTTOU is held, so this works from the background too. */
static void give_terminal(const struct process_group *group)
{
    if (has_terminal(group))
        tcsetpgrp(group->terminal, getpgid(group->child));
}

void process_group_place(struct process_group *group, pid_t child, const char *name, const char *message)
{
    group->child = child;
    /* In a pipeline this process's group has other programs too, and the program must stay in it. */
    struct stat file;
    bool piped = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        piped = piped || (fstat(fd, &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)));
    group->apart = group->terminal >= 0 && !piped && setpgid(child, child) == 0;
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
    for (int i = HELPER_COUNT - 1; i >= 0; i--) /* the watcher first, because it acts on the witness's end */
        if (group->helpers[i] > 0 && kill(group->helpers[i], SIGKILL) == 0)
            waitpid(group->helpers[i], NULL, 0);
    memset(group->helpers, 0, sizeof(group->helpers));
}

/* --- signals --- */

/* Removes a pending signal NUMBER of the witness. Returns whether there was one. */
static bool ask_witness(struct process_group *group, int number)
{
    unsigned char question = (unsigned char)number;
    char answer = 0;
    if (group->witness < 0)
        return false;
    /* This setpgid() changes nothing but takes the lock under which the kernel signals a group: when it returns, a
     * signal to the group that this process has received has reached the witness too. */
    setpgid(0, getpgrp());
    if (write(group->witness, &question, 1) == 1 && read(group->witness, &answer, 1) == 1)
        return answer;
    close(group->witness);
    group->witness = -1;
    return false;
}

/* Returns whether the whole group received SIGNAL, not only this process. timeout(1) signals its child and then the
 * group: a second signal that arrives during the check is dropped. */
static bool was_for_all(struct process_group *group, const siginfo_t *signal)
{
    const struct timespec moment = {.tv_nsec = NS_PER_MS};
    int number = signal->si_signo;
    uint64_t begun = clock_monotonic(), waited = 0;
    bool by_kernel = signal->si_code > 0;
    /* Without a witness: the terminal's signals go to the whole group, except a hang-up, which goes to the leader. */
    if (group->witness < 0)
        return by_kernel && !(getsid(0) == getpid() && (number == SIGHUP || number == SIGCONT));
    while (!ask_witness(group, number)) {
        char state = 0; /* state of the sender: R and D mean that it has not finished yet */
        parent_of(signal->si_pid, &state);
        bool runs = state == 'R' || state == 'D';
        if (by_kernel || group->witness < 0 || waited > SWEEP_MOST_NS || (waited > SWEEP_NS && !runs))
            return false;
        nanosleep(&moment, NULL);
        waited = clock_monotonic() - begun;
    }
    do
        setpgid(0, getpgrp()); /* takes the lock as in ask_witness(): the witness's signal has reached this process */
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
    if (stops(number) && is_pending(SIGCONT)) /* SIGCONT undoes the stop */
        return;
    /* The program has received it already, or it left the group and would not receive it without us. */
    if (all && (theirs == getpgrp() || !group->leads))
        return;
    if (all && theirs > 0)
        to = -theirs;
    verbose("signal %d passed on to process %s%d", number, to < 0 ? "group " : "", to < 0 ? -(int)to : (int)to);
    if (signal->si_code == SI_QUEUE && to > 0)
        sigqueue(to, number, signal->si_value);
    else
        kill(to, number);
}

/* Stops this process by SIGNAL's default action. The kernel does not stop it in an orphaned group, where nobody would
 * continue it. It does not stop either if the group was continued after the program had stopped. */
static void stop(struct process_group *group, int signal)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    sigset_t set = only(signal);
    sigaction(signal, &standard, &before);
    raise(signal); /* pending until sigprocmask(); a SIGCONT removes it */
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
    if (!stops(signal)) /* SIGSTOP was sent to the program only */
        return;
    if (!elsewhere || signal == SIGTSTP || !has_terminal(group))
        stop(group, signal);
    if (!elsewhere || !group->leads || is_pending(SIGCONT)) /* SIGCONT is passed on later */
        return;
    give_terminal(group);
    kill(-theirs, SIGCONT);
}
