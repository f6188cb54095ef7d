#include "agent/main/refusal.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* A static executable that loads libraries all the same (NVTX's header does) gets a second C library with them, in
 * which threads and much else do not work. The kernel tells where it put the program's loader; a program that was
 * started by calling the loader is the loader, as far as the kernel knows. */
static bool is_static(void)
{
    char path[PATH_MAX];
    if (getauxval(AT_BASE) != 0)
        return false;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    return slash && strncmp(slash + 1, "ld-", 3) != 0 && strncmp(slash + 1, "ld.so", 5) != 0;
}

/* With rights that are not its user's, a program does not do what the environment of its user says: write files, load
 * plugins. */
static bool has_more_rights(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *refusal_reason(void)
{
    if (has_more_rights())
        return "it runs with more rights than its user has (set-user-ID)";
    return is_static() ? "it is statically linked" : NULL;
}
