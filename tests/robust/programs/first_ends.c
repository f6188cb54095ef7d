/* The first thread ends by pthread_exit(), and another one goes on: the process ends with that, as exit(0) would end
 * it. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *go_on(void *unused)
{
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("after the first thread");
        usleep(50000);
        nvtxRangePop();
    }
    puts("done");
    return unused;
}

static void at_exit(void)
{
    puts("exit handlers run");
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    nvtxMarkA("the first thread");
    if (pthread_create(&thread, NULL, go_on, NULL) != 0)
        return 7;
    pthread_exit(NULL);
}
