/* NVTX and nothing of CUDA; the exit status is the first argument, a pause in milliseconds the second. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    nvtxRangePushA("only");
    if (argc > 2)
        usleep((unsigned)atoi(argv[2]) * 1000u);
    nvtxRangePop();
    puts("done");
    return argc > 1 ? atoi(argv[1]) : 0;
}
