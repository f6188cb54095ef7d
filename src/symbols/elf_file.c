/* Reads program headers, sections and dynamic symbol tables of ELF files with libelf. */
#include "symbols/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

/* Returns NULL if PATH is not an ELF file of 64 bits. FD is closed by close_file(), whatever this returns. */
static Elf *open_file(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    elf_version(EV_CURRENT);
    Elf *elf = *fd >= 0 ? elf_begin(*fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (!elf || (elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64))
        return elf;
    elf_end(elf);
    return NULL;
}

static void close_file(Elf *elf, int fd)
{
    elf_end(elf);
    if (fd >= 0)
        close(fd);
}

/* --- programs --- */

/* Finds the path of the dynamic loader that the file asks for; it ends with a NUL. Returns 1; 0 if it asks for none; -1
 * if the file is damaged. */
static int find_loader(Elf *elf, const char **loader)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment))
            return -1;
        if (segment.p_type != PT_INTERP)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_BYTE);
        *loader = data && data->d_size > 0 ? data->d_buf : NULL;
        return *loader && (*loader)[data->d_size - 1] == '\0' ? 1 : -1;
    }
    return 0;
}

struct elf_facts elf_facts_read(const char *path)
{
    int fd;
    size_t names, size = 0;
    const char *loader = NULL;
    Elf *elf = open_file(path, &fd);
    struct elf_facts facts = {.is_elf = elf != NULL};
    int asks = elf ? find_loader(elf, &loader) : -1;
    facts.is_static = asks == 0;
    facts.is_for_musl = asks == 1 && strstr(loader, "/ld-musl-");
    static const char variable[] = "NVTX_INJECTION64_PATH"; /* NVTX's header reads it */
    const char *bytes = facts.is_static ? elf_rawfile(elf, &size) : NULL;
    facts.has_nvtx = bytes && memmem(bytes, size, variable, strlen(variable));
    bool readable = elf && elf_getshdrstrndx(elf, &names) == 0;
    for (Elf_Scn *section = NULL; readable && !facts.has_kernels && (section = elf_nextscn(elf, section));) {
        GElf_Shdr head;
        const char *name = gelf_getshdr(section, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
        facts.has_kernels = name && strcmp(name, ".nv_fatbin") == 0; /* where nvcc puts code for GPUs */
    }
    close_file(elf, fd);
    return facts;
}

/* --- what a library exports --- */

bool elf_code_address(Elf *elf, uint64_t offset, uint64_t *address)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        if (offset < segment.p_offset || offset - segment.p_offset >= segment.p_filesz)
            continue;
        *address = segment.p_vaddr + (offset - segment.p_offset);
        return true;
    }
    return false;
}

static bool find_export(Elf *elf, const char *name, GElf_Sym *symbol)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr head;
        if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM || head.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (size_t i = 0; data && i < data->d_size / head.sh_entsize; i++) {
            bool defined = gelf_getsym(data, (int)i, symbol) && symbol->st_shndx != SHN_UNDEF;
            const char *found = defined ? elf_strptr(elf, head.sh_link, symbol->st_name) : NULL;
            if (found && strcmp(found, name) == 0)
                return true;
        }
    }
    return false;
}

bool elf_exported_text(const char *path, const char *name, char *text, size_t space)
{
    int fd;
    GElf_Sym symbol;
    GElf_Shdr head;
    Elf *elf = open_file(path, &fd);
    bool known = elf && find_export(elf, name, &symbol) && symbol.st_size > 0 && symbol.st_size <= space &&
                 gelf_getshdr(elf_getscn(elf, symbol.st_shndx), &head) && head.sh_type == SHT_PROGBITS &&
                 symbol.st_value >= head.sh_addr;
    int64_t offset = known ? (int64_t)(head.sh_offset + (symbol.st_value - head.sh_addr)) : 0;
    Elf_Data *data = known ? elf_getdata_rawchunk(elf, offset, symbol.st_size, ELF_T_BYTE) : NULL;
    known = data && data->d_size == symbol.st_size && ((const char *)data->d_buf)[data->d_size - 1] == '\0';
    if (known)
        memcpy(text, data->d_buf, data->d_size);
    close_file(elf, fd);
    return known;
}

bool exports_find(const char *path, uint64_t offset, uint64_t start, struct exported *exports, size_t count)
{
    int fd;
    uint64_t address;
    Elf *elf = open_file(path, &fd);
    bool found = elf && elf_code_address(elf, offset, &address);
    for (size_t i = 0; i < count && found; i++) {
        GElf_Sym symbol;
        if (!find_export(elf, exports[i].name, &symbol))
            continue;
        exports[i].address = symbol.st_value + start - address;
        exports[i].size = symbol.st_size;
    }
    close_file(elf, fd);
    return found;
}
