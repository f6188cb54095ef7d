#include "launch/preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

int preload_find_mpi(const char *library, char *path, size_t space)
{
    const char *slash = strrchr(library, '/');
    int folder = slash ? (int)(slash - library) + 1 : 0;
    int length = snprintf(path, space, "%.*s" MPI_LIBRARY_FILE, folder, library);
    if (length < 0 || (size_t)length >= space || access(path, R_OK) != 0)
        return error("--mpi: cannot find '" MPI_LIBRARY_FILE "' beside '%s'", library);
    if (strpbrk(path, " :"))
        return error("--mpi: '%s' cannot be preloaded, because its path has a blank or a colon: install gputrace "
                     "elsewhere",
                     path);
    return 0;
}

int preload_add(const char *path)
{
    const char *before = getenv("LD_PRELOAD");
    char *list = NULL;
    if (!before || !*before)
        return setenv("LD_PRELOAD", path, 1);
    if (asprintf(&list, "%s:%s", before, path) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int failed = setenv("LD_PRELOAD", list, 1);
    free(list);
    return failed;
}
