/* Limits of the process's resources: `limits NAME VALUE when` sets one before (`first`) or after (`later`) NVTX and
 * CUDA have begun, or in a child, when they have in its parent (`child`). */
#include "gpu.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    int resource;
} limits[] = {{"as", RLIMIT_AS},       {"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE},    {"core", RLIMIT_CORE},
              {"stack", RLIMIT_STACK}, {"nproc", RLIMIT_NPROC},   {"memlock", RLIMIT_MEMLOCK}};

static void set(const char *name, const char *value)
{
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = strtoull(value, NULL, 10);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (strcmp(limits[i].name, name) == 0 && setrlimit((__rlimit_resource_t)limits[i].resource, &limit) == 0)
            return;
    exit(7);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 8;
    if (strcmp(argv[3], "first") == 0)
        set(argv[1], argv[2]);
    nvtx_work(10, 10);
    if (strcmp(argv[3], "child") == 0) {
        int status = 1;
        pid_t child = fork();
        if (child == 0) {
            set(argv[1], argv[2]);
            nvtx_work(1000, 10);
            exit(25);
        }
        return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 6;
    }
    if (strcmp(argv[1], "nofile") != 0 || strcmp(argv[3], "later") == 0)
        gpu_start();
    if (strcmp(argv[3], "later") == 0) {
        gpu_work(1); /* with its first work a real driver still opens files */
        set(argv[1], argv[2]);
    }
    /* A file that cannot grow lasts long because chunks are used again: more is recorded at once than chunks are ready.
     */
    nvtx_work(strcmp(argv[1], "fsize") == 0 ? 500000 : 50000, 200);
    if (strcmp(argv[1], "nofile") != 0 || strcmp(argv[3], "later") == 0)
        printf("%08x\n", gpu_work(20));
    return 0;
}
