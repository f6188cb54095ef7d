/* The first thread ends by pthread_exit(), or with a STATUS by the bare system call: `first_ends [STATUS [alone]]`.
 * Another one goes on, unless it is alone. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *go_on(void *unused)
{
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("after the first thread");
        usleep(50000);
        nvtxRangePop();
    }
    puts("done");
    fflush(stdout);
    return unused;
}

static void at_exit(void)
{
    puts("exit handlers run");
}

int main(int argc, char **argv)
{
    pthread_t thread;
    atexit(at_exit);
    nvtxMarkA("the first thread");
    if (argc < 3 && pthread_create(&thread, NULL, go_on, NULL) != 0)
        return 7;
    if (argc > 1)
        syscall(SYS_exit, atoi(argv[1]));
    pthread_exit(NULL);
}
