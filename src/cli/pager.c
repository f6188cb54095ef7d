/* Starts the pager as a child with a pipe at the first output, and waits for it at the end. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/progress.h"
#include "common/buffer.h"

/* Whether the first word of COMMAND is a program that can be started, or something that only a shell understands, as in
 * "LESS=F less". A pager that is not there is no error. */
static bool is_there(const char *command)
{
    size_t length = strcspn(command, " \t");
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    if (strcspn(command, "=|&;<>()$`\\\"'*?[#~") < length)
        return true;
    if (memchr(command, '/', length)) {
        snprintf(file, sizeof(file), "%.*s", (int)length, command);
        return access(file, X_OK) == 0;
    }
    for (size_t folder; path && *path; path += folder + (path[folder] == ':')) {
        folder = strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/%.*s", (int)folder, path, (int)length, command);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* The user's pager; NULL: none. */
static const char *command(void)
{
    const char *own = getenv("GPUTRACE_PAGER"), *any = getenv("PAGER");
    const char *chosen = own ? own : any ? any : "less";
    return *chosen && strcmp(chosen, "cat") != 0 && is_there(chosen) ? chosen : NULL;
}

static void start(struct pager *pager)
{
    const char *chosen = !isatty(STDOUT_FILENO) ? NULL : command();
    int ends[2];
    pager->tried = true;
    if (!chosen || pipe2(ends, O_CLOEXEC) != 0)
        return;
    signal(SIGPIPE, SIG_IGN);
    pager->pid = fork();
    if (pager->pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        setenv("LESS", "FRX", 0); /* ends by itself where all fits, keeps colours, leaves the text on the screen */
        setenv("LV", "-c", 0);
        dup2(ends[0], STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", chosen, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (pager->pid < 0) {
        pager->pid = 0;
        close(ends[1]);
        return;
    }
    signal(SIGINT, SIG_IGN); /* it is for the pager from now on */
    pager->input = ends[1];
}

int pager_drain(void *context, const char *data, size_t size)
{
    struct pager *pager = context;
    if (!pager->tried) {
        progress_end(pager->progress);
        start(pager);
    }
    if (pager->quit)
        return 0;
    if (pager->pid == 0)
        return buffer_drain_fd(BUFFER_FD(STDOUT_FILENO), data, size);
    int status = buffer_drain_fd(BUFFER_FD(pager->input), data, size);
    pager->quit = status < 0 && errno == EPIPE;
    return pager->quit ? 0 : status;
}

int pager_take_none(void *context, const char *value)
{
    (void)context;
    (void)value;
    return setenv("GPUTRACE_PAGER", "", 1);
}

void pager_end(struct pager *pager)
{
    if (pager->pid == 0)
        return;
    close(pager->input);
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, SIG_DFL);
    pager->pid = 0;
}
