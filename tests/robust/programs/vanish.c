/* Its spool directory changes under it: `vanish removed|read-only first|later`. */
#include "gpu.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static void change(const char *how)
{
    const char *path = getenv("GPUTRACE_SPOOL");
    DIR *files = path ? opendir(path) : NULL;
    if (!files)
        return; /* not under gputrace */
    if (strcmp(how, "read-only") == 0)
        chmod(path, 0500);
    else
        for (struct dirent *file; (file = readdir(files));)
            unlinkat(dirfd(files), file->d_name, 0);
    closedir(files);
    if (strcmp(how, "removed") == 0)
        rmdir(path);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 8;
    if (strcmp(argv[2], "first") == 0)
        change(argv[1]);
    nvtx_work(100, 10);
    gpu_start();
    if (strcmp(argv[2], "later") == 0)
        change(argv[1]);
    nvtx_work(40000, 200);
    printf("%08x\n", gpu_work(50));
    return 23;
}
