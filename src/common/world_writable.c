/* Follows the path from the file up to the root, with symbolic links resolved, and looks at each directory's mode. */
#include "common/world_writable.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* CHILD is what lies in the directory on the way to the file. */
static bool can_replace(const struct stat *directory, const struct stat *child)
{
    if (!(directory->st_mode & S_IWOTH))
        return false;
    return !(directory->st_mode & S_ISVTX) || (child->st_uid != 0 && child->st_uid != geteuid());
}

/* Cuts the last name off; false: none is left. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || !path[1])
        return false;
    slash[slash == path] = '\0';
    return true;
}

static bool stands_open(char where[PATH_MAX])
{
    struct stat child, directory;
    if (stat(where, &child) != 0)
        return false;
    if (!S_ISDIR(child.st_mode) && (child.st_mode & S_IWOTH))
        return true;
    for (; go_up(where); child = directory)
        if (stat(where, &directory) == 0 && can_replace(&directory, &child))
            return true;
    return false;
}

bool world_writable(const char *path, char where[PATH_MAX])
{
    /* The path is checked as it is written, because a link in it may be replaced, and then where it leads. */
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
    if (length >= PATH_MAX)
        return false;
    memcpy(where, slash ? path : ".", length);
    where[length] = '\0';
    struct stat directory, link;
    if (stat(where, &directory) == 0 && lstat(path, &link) == 0 && can_replace(&directory, &link))
        return true;
    return realpath(path, where) && stands_open(where);
}
