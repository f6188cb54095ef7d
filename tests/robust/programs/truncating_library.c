/* Preloaded: whenever pages of a spool have been made ready, the spool is truncated, so that the next write finds none. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int madvise(void *base, size_t bytes, int advice)
{
    char pattern[4096];
    glob_t spools;
    const char *directory = getenv("GPUTRACE_SPOOL");
    int result = (int)syscall(SYS_madvise, base, bytes, advice);
    if (advice != MADV_POPULATE_WRITE || !directory)
        return result;
    snprintf(pattern, sizeof(pattern), "%s/*.spool", directory);
    if (glob(pattern, 0, NULL, &spools) == 0) {
        for (size_t i = 0; i < spools.gl_pathc; i++)
            if (truncate(spools.gl_pathv[i], 0) != 0)
                abort();
        globfree(&spools);
    }
    return result;
}
