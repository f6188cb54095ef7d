#include "launch/elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool read_at(const struct elf_file *file, uint64_t at, void *bytes, size_t size)
{
    return at <= INT64_MAX && pread(file->fd, bytes, size, (off_t)at) == (ssize_t)size;
}

bool elf_open(struct elf_file *file, const char *path)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd >= 0 && read_at(file, 0, &file->head, sizeof(file->head)) &&
        memcmp(file->head.e_ident, ELFMAG, SELFMAG) == 0 && file->head.e_ident[EI_CLASS] == ELFCLASS64)
        return true;
    elf_close(file);
    return false;
}

void elf_close(struct elf_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* Returns 1 when there is a program header of TYPE, 0 when not, -1 when the file does not say. */
static int find_segment(const struct elf_file *file, uint32_t type, Elf64_Phdr *segment)
{
    if (file->head.e_phentsize != sizeof(*segment))
        return -1;
    for (unsigned i = 0; i < file->head.e_phnum; i++) {
        if (!read_at(file, file->head.e_phoff + i * sizeof(*segment), segment, sizeof(*segment)))
            return -1;
        if (segment->p_type == type)
            return 1;
    }
    return 0;
}

int elf_has_segment(const struct elf_file *file, uint32_t type)
{
    Elf64_Phdr segment;
    return find_segment(file, type, &segment);
}

bool elf_loader(const struct elf_file *file, char *text, size_t room)
{
    Elf64_Phdr segment;
    return find_segment(file, PT_INTERP, &segment) == 1 && segment.p_filesz > 0 && segment.p_filesz <= room &&
           read_at(file, segment.p_offset, text, segment.p_filesz) && text[segment.p_filesz - 1] == '\0';
}

static bool read_section(const struct elf_file *file, unsigned number, Elf64_Shdr *section)
{
    return number < file->head.e_shnum && file->head.e_shentsize == sizeof(*section) &&
           read_at(file, file->head.e_shoff + number * sizeof(*section), section, sizeof(*section));
}

/* Whether NAME is the string at OFFSET of the section STRINGS. */
static bool is_named(const struct elf_file *file, const Elf64_Shdr *strings, uint64_t offset, const char *name)
{
    char found[64];
    size_t size = strlen(name) + 1;
    return size <= sizeof(found) && read_at(file, strings->sh_offset + offset, found, size) &&
           memcmp(found, name, size) == 0;
}

bool elf_has_section(const struct elf_file *file, const char *name)
{
    Elf64_Shdr names, section;
    bool found = false, readable = read_section(file, file->head.e_shstrndx, &names);
    for (unsigned i = 0; readable && !found && read_section(file, i, &section); i++)
        found = is_named(file, &names, section.sh_name, name);
    return found;
}

/* The bytes of SYMBOL, which end with a NUL. */
static bool read_text(const struct elf_file *file, const Elf64_Sym *symbol, char *text, size_t room)
{
    Elf64_Shdr section;
    uint64_t size = symbol->st_size;
    return size > 0 && size <= room && read_section(file, symbol->st_shndx, &section) &&
           section.sh_type == SHT_PROGBITS && symbol->st_value >= section.sh_addr &&
           read_at(file, section.sh_offset + (symbol->st_value - section.sh_addr), text, size) &&
           text[size - 1] == '\0';
}

static bool find_symbol(const struct elf_file *file, const Elf64_Shdr *table, const char *name, Elf64_Sym *symbol)
{
    Elf64_Shdr strings;
    uint64_t count = table->sh_entsize == sizeof(*symbol) ? table->sh_size / sizeof(*symbol) : 0;
    bool found = false, readable = read_section(file, table->sh_link, &strings);
    for (uint64_t i = 0; readable && !found && i < count; i++) {
        readable = read_at(file, table->sh_offset + i * sizeof(*symbol), symbol, sizeof(*symbol));
        found = readable && is_named(file, &strings, symbol->st_name, name);
    }
    return found;
}

bool elf_exported_text(const struct elf_file *file, const char *name, char *text, size_t room)
{
    Elf64_Shdr section;
    Elf64_Sym symbol;
    for (unsigned i = 0; read_section(file, i, &section); i++)
        if (section.sh_type == SHT_DYNSYM)
            return find_symbol(file, &section, name, &symbol) && read_text(file, &symbol, text, room);
    return false;
}

bool elf_has_text(const struct elf_file *file, const char *text)
{
    char block[1 << 16];
    size_t length = strlen(text), kept = 0; /* bytes of the last block, in which the text may begin */
    ssize_t got;
    for (off_t at = 0; (got = pread(file->fd, block + kept, sizeof(block) - kept, at)) > 0; at += got) {
        size_t size = kept + (size_t)got;
        if (memmem(block, size, text, length))
            return true;
        kept = size < length ? size : length - 1;
        memmove(block, block + size - kept, kept);
    }
    return false;
}
