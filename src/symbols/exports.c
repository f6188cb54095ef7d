/* Reads the dynamic symbol table of an ELF file for the names that are asked for. */
#include "symbols/exports.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

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

static void find_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, uint64_t bias, struct exported *exports,
                    size_t count)
{
    Elf_Data *data = head->sh_entsize ? elf_getdata(section, NULL) : NULL;
    size_t symbols = data ? data->d_size / head->sh_entsize : 0;
    for (size_t i = 0; i < symbols; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *name = elf_strptr(elf, head->sh_link, symbol.st_name);
        for (size_t k = 0; name && k < count; k++) {
            if (strcmp(name, exports[k].name) == 0) {
                exports[k].address = symbol.st_value + bias;
                exports[k].size = symbol.st_size;
            }
        }
    }
}

bool exports_find(const char *path, uint64_t offset, uint64_t start, struct exported *exports, size_t count)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    uint64_t address;
    bool found = elf && elf_code_address(elf, offset, &address);
    for (Elf_Scn *section = NULL; found && (section = elf_nextscn(elf, section));) {
        GElf_Shdr head;
        if (gelf_getshdr(section, &head) && head.sh_type == SHT_DYNSYM)
            find_in(elf, section, &head, start - address, exports, count);
    }
    if (elf)
        elf_end(elf);
    if (fd >= 0)
        close(fd);
    return found;
}
