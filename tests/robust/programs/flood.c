/* Many records in little time, and what they come to: `flood RANGES ROUNDS`. */
#include "gpu.h"

int main(int argc, char **argv)
{
    unsigned ranges = argc > 1 ? (unsigned)atoi(argv[1]) : 50000, rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 500;
    nvtx_work(10, 10);
    gpu_start();
    printf("%08x\n", gpu_work(rounds));
    nvtx_work(ranges, 200);
    printf("%08x\n", gpu_work(rounds));
    return 21;
}
