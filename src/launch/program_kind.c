#include "launch/program_kind.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "launch/elf_file.h"

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
