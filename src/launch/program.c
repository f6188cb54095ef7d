#include "launch/program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/log.h"
#include "launch/elf_file.h"
#include "launch/launch.h"

/* Returns 0 for a file that may be run, else errno. */
static int check(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return errno;
    if (S_ISDIR(file.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static bool absent(int failure)
{
    return failure == ENOENT || failure == ENOTDIR;
}

static int refuse(const char *path, int failure)
{
    if (absent(failure)) {
        error("cannot find '%s'", path);
        return EXIT_NOT_FOUND;
    }
    if (failure == EACCES)
        error("cannot run '%s': it is not executable (chmod +x makes it so)", path);
    else
        error("cannot run '%s': %s", path, strerror(failure));
    return EXIT_NOT_RUN;
}

/* Joins FOLDER (LENGTH bytes; none means the current one) and NAME. False: too long. */
static bool join(char *path, size_t room, const char *folder, size_t length, const char *name)
{
    int size = length ? snprintf(path, room, "%.*s/%s", (int)length, folder, name) : snprintf(path, room, "./%s", name);
    return size > 0 && (size_t)size < room;
}

int program_find(const char *name, char *path, size_t room)
{
    if (strchr(name, '/')) {
        int failure = strlen(name) < room ? check(strcpy(path, name)) : ENAMETOOLONG;
        return failure ? refuse(name, failure) : 0;
    }
    const char *list = getenv("PATH");
    int worst = ENOENT; /* one that is there but cannot be run is the better explanation */
    for (const char *folder = list ? list : "/usr/local/bin:/usr/bin:/bin"; *name;) {
        size_t length = strcspn(folder, ":");
        int failure = join(path, room, folder, length, name) ? check(path) : ENOENT;
        if (failure == 0)
            return 0;
        if (!absent(failure) && failure != EISDIR)
            worst = failure;
        if (!folder[length])
            break;
        folder += length + 1;
    }
    if (worst == ENOENT && access(name, X_OK) == 0)
        error("there is a '%s' here, but not in PATH: say './%s'", name, name);
    else
        return refuse(name, worst);
    return EXIT_NOT_FOUND;
}

const char *program_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool program_gains_rights(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return false;
    bool user = (file.st_mode & S_ISUID) && file.st_uid != getuid();
    bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getgid();
    return user || group || (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

bool program_is_static(const char *path)
{
    struct elf_file file;
    bool without_loader = elf_open(&file, path) && elf_has_segment(&file, PT_INTERP) == 0;
    elf_close(&file);
    return without_loader;
}

bool program_is_static_with_nvtx(const char *path)
{
    struct elf_file file;
    bool has = program_is_static(path) && elf_open(&file, path);
    if (!has)
        return false;
    has = elf_has_text(&file, "NVTX_INJECTION64_PATH");
    elf_close(&file);
    return has;
}

bool program_is_for_musl(const char *path)
{
    struct elf_file file;
    char loader[PATH_MAX];
    bool is = elf_open(&file, path) && elf_loader(&file, loader, sizeof(loader)) && strstr(loader, "/ld-musl-");
    elf_close(&file);
    return is;
}

bool program_has_kernels(const char *path)
{
    struct elf_file file;
    bool found = elf_open(&file, path) && elf_has_section(&file, ".nv_fatbin"); /* where nvcc puts them */
    elf_close(&file);
    return found;
}
