/* Ranges before strict seccomp and, as many as the argument says, within it: there is nothing but read, write and exit.
 * With `clock` as the second argument the program itself then asks for the time, with `call` for its process id: it
 * dies of either. With `filter` there is a filter instead that kills a thread for asking for its process id, and the
 * program's only thread does. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void make_ranges(int count)
{
    for (int i = 0; i < count; i++) {
        nvtxRangePushA("range");
        nvtxRangePop();
    }
}

static int enter_filter(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(instructions) / sizeof(instructions[0]), .filter = instructions};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    int within = argc > 1 ? atoi(argv[1]) : 0;
    const char *then = argc > 2 ? argv[2] : "";
    int filter = strcmp(then, "filter") == 0, clock = strcmp(then, "clock") == 0, call = strcmp(then, "call") == 0;
    struct timespec now;
    make_ranges(10);
    if ((filter ? enter_filter() : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) != 0)
        return 7;
    make_ranges(within);
    if (clock)
        clock_gettime(CLOCK_REALTIME, &now);
    if (call || filter)
        syscall(SYS_getpid);
    if (write(STDOUT_FILENO, "done\n", 5) != 5)
        return 8;
    syscall(SYS_exit, 3);
    return 9;
}
