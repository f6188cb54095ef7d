/*
 * many COUNT: so many processes, four at a time, each with one NVTX range of its own.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 4

static int wait_for_one(void)
{
    int status;
    return wait(&status) > 0 && status == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    int count = argc == 2 ? atoi(argv[1]) : 1, failed = 0;
    for (int i = 0; i < count; i++) {
        failed += i >= AT_ONCE && wait_for_one() != 0;
        pid_t child = fork();
        if (child == 0) {
            nvtxRangePushA("range");
            nvtxRangePop();
            return 0;
        }
        failed += child < 0;
    }
    for (int i = 0; i < count && i < AT_ONCE; i++)
        failed += wait_for_one() != 0;
    return failed > 0;
}
