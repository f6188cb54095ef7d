/* The GPU and NVTX; standard input to standard output where there is a second argument; the exit status is the first.
 */
#include "gpu.h"

int main(int argc, char **argv)
{
    char line[256];
    nvtx_work(3, 10);
    gpu_start();
    printf("%08x\n", gpu_work(20));
    while (argc > 2 && fgets(line, sizeof(line), stdin))
        fputs(line, stdout);
    return argc > 1 ? atoi(argv[1]) : 0;
}
