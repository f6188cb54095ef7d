/* Ranges before strict seccomp and, as many as the argument says, within it: there is nothing but read, write and exit.
 * With `clock` as the second argument the program itself then asks for the time, with `call` for its process id: it
 * dies of either. */
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
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

int main(int argc, char **argv)
{
    int within = argc > 1 ? atoi(argv[1]) : 0;
    int clock = argc > 2 && strcmp(argv[2], "clock") == 0, call = argc > 2 && strcmp(argv[2], "call") == 0;
    struct timespec now;
    make_ranges(10);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 7;
    make_ranges(within);
    if (clock)
        clock_gettime(CLOCK_REALTIME, &now);
    if (call)
        syscall(SYS_getpid);
    if (write(STDOUT_FILENO, "done\n", 5) != 5)
        return 8;
    syscall(SYS_exit, 3);
    return 9;
}
