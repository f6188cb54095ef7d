#include "tool/launch/program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

bool program_gains_rights(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return false;
    bool user = (file.st_mode & S_ISUID) && file.st_uid != getuid();
    bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getgid();
    return user || group || (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* Gives 1 when a program header of the type is there, 0 when not, -1 when this cannot be told. */
static int has_segment(int fd, const Elf64_Ehdr *head, uint32_t type)
{
    if (head->e_phentsize != sizeof(Elf64_Phdr))
        return -1;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(head->e_phoff + i * sizeof(segment));
        if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
            return -1;
        if (segment.p_type == type)
            return 1;
    }
    return 0;
}

/* The head of a 64-bit ELF file. */
static bool read_head(int fd, Elf64_Ehdr *head)
{
    return fd >= 0 && pread(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
           memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64;
}

bool program_is_static(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    bool without_loader = read_head(fd, &head) && has_segment(fd, &head, PT_INTERP) == 0;
    if (fd >= 0)
        close(fd);
    return without_loader;
}

static bool read_section(int fd, const Elf64_Ehdr *head, unsigned number, Elf64_Shdr *section)
{
    off_t at = (off_t)(head->e_shoff + number * sizeof(*section));
    return number < head->e_shnum && head->e_shentsize == sizeof(*section) &&
           pread(fd, section, sizeof(*section), at) == (ssize_t)sizeof(*section);
}

bool program_has_kernels(const char *path)
{
    static const char wanted[] = ".nv_fatbin"; /* where nvcc puts them */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    bool found = false, readable = read_head(fd, &head) && read_section(fd, &head, head.e_shstrndx, &names);
    for (unsigned i = 0; readable && !found && read_section(fd, &head, i, &section); i++) {
        char name[sizeof(wanted)];
        off_t at = (off_t)(names.sh_offset + section.sh_name);
        found = pread(fd, name, sizeof(name), at) == (ssize_t)sizeof(name) && memcmp(name, wanted, sizeof(name)) == 0;
    }
    if (fd >= 0)
        close(fd);
    return found;
}
