/*
 * no_cuda: uses neither CUDA nor NVTX.
 *
 * A correct trace holds no events but the names of rows, and gputrace warns that there was nothing to record.
 */
#include <stdio.h>

int main(void)
{
    puts("nothing to see on a GPU");
    puts("expect events 0");
    return 0;
}
