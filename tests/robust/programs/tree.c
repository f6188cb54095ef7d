/*
 * A tree of processes: `tree SHAPE [PROGRAM [ARG...]]`. Each process that works uses NVTX, and the GPU but where it is
 * said; the exit status is 0 when all children ended well.
 */
#include "gpu.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void work(void)
{
    nvtx_work(5, 10);
    gpu_start();
    gpu_work(2);
}

static int end_of(pid_t child)
{
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

/* CUDA is used first in the children; the parent has NVTX before, or nothing. */
static int forked(int nvtx_before)
{
    int failed = 0;
    pid_t children[3];
    if (nvtx_before)
        nvtx_work(5, 10);
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            work();
            exit(0);
        }
    }
    for (int i = 0; i < 3; i++)
        failed |= end_of(children[i]);
    return failed;
}

/* Workers of a process with CUDA that never touch it. */
static int idle_workers(void)
{
    int failed = 0;
    work();
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            char *memory = malloc(1 << 20);
            memset(memory, i, 1 << 20);
            exit(memory[17] == i ? 0 : 1);
        }
        failed |= end_of(child);
    }
    return failed;
}

static int vforked(char **command)
{
    work();
    pid_t child = vfork();
    if (child == 0) {
        execv(command[0], command);
        _exit(7);
    }
    int failed = end_of(child);
    nvtx_work(1, 10);
    return failed;
}

static int spawned(char **command)
{
    pid_t child = 0;
    work();
    return posix_spawn(&child, command[0], NULL, NULL, command, environ) != 0 || end_of(child);
}

/* The same process: this image, then another. */
static int chained(char **command)
{
    work();
    execv(command[0], command);
    return 7;
}

/* What is left when everybody has gone: twice forked, in a session of its own. It begins when the first process ends,
 * and works for a while. */
static int daemon_left(void)
{
    int gone[2];
    char byte;
    if (pipe(gone) != 0)
        return 7;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            close(gone[1]);
            nvtx_work(5, 10);
            if (read(gone[0], &byte, 1) == 0)
                usleep(300 * 1000);
            work();
            exit(0);
        }
        _exit(0);
    }
    nvtx_work(5, 10);
    usleep(100 * 1000); /* for the daemon to begin */
    return end_of(child);
}

/* A daemon that pushes ranges until there is a file "end", half a minute at most. The file "daemon" has its pid once
 * the first process ends, and "much" is there when it has pushed many more. */
static int daemon_flooding(void)
{
    int begun[2];
    char byte = 0;
    if (pipe(begun) != 0)
        return 7;
    if (fork() == 0) {
        setsid();
        close(begun[0]);
        if (fork() > 0)
            _exit(0);
        FILE *pid = fopen("daemon", "w");
        if (!pid || fprintf(pid, "%d\n", (int)getpid()) < 0 || fclose(pid) != 0)
            _exit(7);
        nvtx_work(200000, 10);
        close(begun[1]);
        usleep(1000 * 1000);
        for (unsigned i = 0; i < 30000 && access("end", F_OK) != 0; i++) {
            nvtx_work(1000, 10);
            usleep(1000);
            if (i == 1000)
                close(creat("much", 0600));
        }
        exit(0);
    }
    close(begun[1]);
    return read(begun[0], &byte, 1) != 0;
}

/* A child that records nothing and outlives its parent, until there is a file "end", ten seconds at most. */
static int idle_left(void)
{
    work();
    if (fork() == 0) {
        for (int i = 0; i < 1000 && access("end", F_OK) != 0; i++)
            usleep(10 * 1000);
        close(creat("ended", 0600));
        _exit(0);
    }
    return 0;
}

static int many(int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            nvtx_work(2, 10);
            if (i % 10 == 0)
                gpu_start();
            exit(0);
        }
        failed |= end_of(child);
    }
    return failed;
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";
    if (strcmp(shape, "fork") == 0)
        return forked(1);
    if (strcmp(shape, "child-first") == 0)
        return forked(0);
    if (strcmp(shape, "idle") == 0)
        return idle_workers();
    if (strcmp(shape, "idle-left") == 0)
        return idle_left();
    if (strcmp(shape, "daemon") == 0)
        return daemon_left();
    if (strcmp(shape, "daemon-flood") == 0)
        return daemon_flooding();
    if (argc > 2 && strcmp(shape, "many") == 0)
        return many(atoi(argv[2]));
    if (argc > 2 && strcmp(shape, "vfork") == 0)
        return vforked(argv + 2);
    if (argc > 2 && strcmp(shape, "spawn") == 0)
        return spawned(argv + 2);
    if (argc > 2 && strcmp(shape, "exec") == 0)
        return chained(argv + 2);
    return 8;
}
