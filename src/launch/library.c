#include "launch/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/world_writable.h"

/* As it lies in a build tree, and as `make install` puts it: GPUTRACE_LIBDIR is the way there from this program. */
static const char *const places[] = {"", "/" GPUTRACE_LIBDIR};

int library_find(char *path, size_t room)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return -1;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        char candidate[PATH_MAX], absolute[PATH_MAX];
        int size = snprintf(candidate, sizeof(candidate), "%s%s/" LIBRARY_FILE, self, places[i]);
        if (size < 0 || (size_t)size >= sizeof(candidate) || !realpath(candidate, absolute))
            continue;
        size = snprintf(path, room, "%s", absolute);
        if (size > 0 && (size_t)size < room && access(path, R_OK) == 0)
            return 0;
    }
    return -1;
}

int library_check(const char *path)
{
    char where[PATH_MAX];
    if (!world_writable(path, where))
        return 0;
    return error("'%s' is not loaded into a program, for everybody can write to '%s': chmod o-w '%s'", path, where,
                 where);
}
