/* Goes elsewhere: `elsewhere WHERE when`: another directory (chdir), another root (chroot), another user (uid), another
 * environment (environment), before (`first`) or after (`later`) NVTX and CUDA have begun. */
#include "gpu.h"

#include <sys/stat.h>
#include <unistd.h>

static int go(const char *where)
{
    if (strcmp(where, "chdir") == 0)
        return chdir("/");
    if (strcmp(where, "chroot") == 0)
        return mkdir("root", 0755) | chroot("root");
    if (strcmp(where, "uid") == 0)
        return setgid(65534) | setuid(65534);
    return strcmp(where, "environment") == 0 ? clearenv() : -1;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 8;
    int first = strcmp(argv[2], "first") == 0;
    gpu_must(first ? CUDA_SUCCESS : cuInit(0), "cuInit");
    if (first && go(argv[1]) != 0)
        return 7;
    nvtx_work(10, 10);
    if (strcmp(argv[1], "chroot") != 0 || !first) /* without /proc and devices there is no CUDA */
        gpu_start();
    if (!first && go(argv[1]) != 0)
        return 7;
    nvtx_work(50000, 100);
    if (strcmp(argv[1], "chroot") != 0 || !first)
        printf("%08x\n", gpu_work(20));
    return 0;
}
