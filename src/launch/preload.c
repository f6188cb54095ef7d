/*
 * Finds the libraries to preload and puts them into LD_PRELOAD, behind a sanitizer's library if one is there, which
 * must be first.
 */
#include "launch/preload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

/* Writes FOLDER/FILE, where FOLDER is below that of LIBRARY. Returns whether the file is there. */
static bool find_beside(const char *library, const char *folder, const char *file, char *path, size_t space)
{
    const char *slash = strrchr(library, '/');
    int length = snprintf(path, space, "%.*s%s%s", slash ? (int)(slash - library) + 1 : 0, library, folder, file);
    return length >= 0 && (size_t)length < space && access(path, R_OK) == 0;
}

/* Finds a library that is preloaded. The dynamic loader prints an error for each 32-bit program when PATH is a
 * 64-bit library. So PATH has the loader's $LIB, if the links are there (Makefile) that lead to FILE in programs of 64
 * bits, and in those of 32 bits to their C library, which they have loaded already. */
static bool find_preload(const char *library, const char *file, char *path, size_t space)
{
    if (find_beside(library, "libgputrace-preload/lib64/", file, path, space))
        find_beside(library, "libgputrace-preload/$LIB/", file, path, space);
    else if (!find_beside(library, "", file, path, space))
        return false;
    return true;
}

int preload_find_mpi(const char *library, char *path, size_t space)
{
    if (!find_preload(library, MPI_LIBRARY_FILE, path, space))
        return error("--mpi: cannot find '" MPI_LIBRARY_FILE "' beside '%s'", library);
    if (strpbrk(path, " :"))
        return error("--mpi: '%s' cannot be preloaded, because its path has a blank or a colon: install gputrace "
                     "elsewhere",
                     path);
    return 0;
}

void preload_find_torch(const char *library, char *path, size_t space)
{
    bool is_there = find_preload(library, TORCH_LIBRARY_FILE, path, space);
    if (is_there && !strpbrk(path, " :"))
        return;
    warning("operators of PyTorch are recorded in processes that use CUDA or NVTX alone: '%s' %s", path,
            is_there ? "has a blank or a colon in its path and cannot be preloaded" : "is missing");
    *path = '\0';
}

#define SEPARATORS " :"

/* "/usr/lib/libasan.so.8", "libclang_rt.asan-x86_64.so" */
static bool is_sanitizer(const char *path, size_t length)
{
    return memmem(path, length, "san.so", strlen("san.so")) || memmem(path, length, "clang_rt.", strlen("clang_rt."));
}

/* Returns how many bytes of LIST name sanitizers, before another library. */
static size_t sanitizers_length(const char *list)
{
    size_t end = 0;
    while (true) {
        size_t start = end + strspn(list + end, SEPARATORS), length = strcspn(list + start, SEPARATORS);
        if (!is_sanitizer(list + start, length))
            return end;
        end = start + length;
    }
}

int preload_add(const char *path)
{
    const char *before = getenv("LD_PRELOAD");
    char *list = NULL;
    if (!before || !*before)
        return setenv("LD_PRELOAD", path, 1);
    int first = (int)sanitizers_length(before);
    const char *rest = before + first + strspn(before + first, SEPARATORS);
    if (asprintf(&list, "%.*s%s%s%s%s", first, before, first ? ":" : "", path, *rest ? ":" : "", rest) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int failed = setenv("LD_PRELOAD", list, 1);
    free(list);
    return failed;
}
