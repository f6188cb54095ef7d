#include "core/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/function.h"

/* Sections in this order: none, names of sections, names of symbols, symbols, then one for each kernel. */
enum { SECTION_NAMES = 1, SYMBOL_NAMES, SYMBOLS, KERNELS, CODE_BYTES = 128, REGISTERS_AT = 24 };

/* Bytes that grow, all in one piece. */
struct bytes {
    uint8_t *data;
    size_t size;
};

/* Gives where it was put. */
static size_t bytes_add(struct bytes *bytes, const void *data, size_t size)
{
    size_t at = bytes->size;
    bytes->data = realloc(bytes->data, at + size);
    if (!bytes->data)
        abort();
    if (data)
        memcpy(bytes->data + at, data, size);
    else
        memset(bytes->data + at, 0, size);
    bytes->size += size;
    return at;
}

static uint32_t bytes_add_text(struct bytes *bytes, const char *text)
{
    return (uint32_t)bytes_add(bytes, text, strlen(text) + 1);
}

static Elf64_Shdr cubin_section(struct bytes *names, const char *name, uint32_t type, size_t offset, size_t size)
{
    return (Elf64_Shdr){.sh_name = bytes_add_text(names, name),
                        .sh_type = type,
                        .sh_offset = offset,
                        .sh_size = size,
                        .sh_addralign = 1};
}

static Elf64_Shdr cubin_kernel(struct bytes *file, struct bytes *names, const struct function *function)
{
    char name[4200];
    snprintf(name, sizeof(name), ".text.%s", function->name);
    Elf64_Shdr section = cubin_section(names, name, SHT_PROGBITS, bytes_add(file, NULL, CODE_BYTES), CODE_BYTES);
    section.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    section.sh_info = function->registers << REGISTERS_AT;
    return section;
}

static void cubin_symbols(const struct image *image, struct bytes *symbols, struct bytes *names)
{
    bytes_add(symbols, NULL, sizeof(Elf64_Sym));
    bytes_add_text(names, "");
    for (size_t i = 0; i < image->globals.count; i++) {
        const struct global *global = image->globals.items[i];
        const Elf64_Sym symbol = {.st_name = bytes_add_text(names, global->name),
                                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                  .st_shndx = SHN_ABS,
                                  .st_size = global->size};
        bytes_add(symbols, &symbol, sizeof(symbol));
    }
}

static void cubin_header(struct bytes *file, size_t sections_at, size_t count)
{
    enum { EM_CUDA_ = 190 };
    const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_EXEC,
                               .e_machine = EM_CUDA_,
                               .e_version = EV_CURRENT,
                               .e_shoff = sections_at,
                               .e_ehsize = sizeof(Elf64_Ehdr),
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = (uint16_t)count,
                               .e_shstrndx = SECTION_NAMES};
    memcpy(file->data, &header, sizeof(header));
}

void *cubin_make(const struct image *image, size_t *size)
{
    struct bytes file = {0}, names = {0}, symbol_names = {0}, symbols = {0}, sections = {0};
    bytes_add(&file, NULL, sizeof(Elf64_Ehdr));
    bytes_add_text(&names, "");
    cubin_symbols(image, &symbols, &symbol_names);
    Elf64_Shdr fixed[KERNELS] = {0};
    fixed[SYMBOL_NAMES] = cubin_section(&names, ".strtab", SHT_STRTAB,
                                        bytes_add(&file, symbol_names.data, symbol_names.size), symbol_names.size);
    bytes_add(&file, NULL, (8 - file.size % 8) % 8);
    fixed[SYMBOLS] =
        cubin_section(&names, ".symtab", SHT_SYMTAB, bytes_add(&file, symbols.data, symbols.size), symbols.size);
    fixed[SYMBOLS].sh_link = SYMBOL_NAMES;
    fixed[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    bytes_add(&sections, fixed, sizeof(fixed));
    for (size_t i = 0; i < image->functions.count; i++) {
        const Elf64_Shdr kernel = cubin_kernel(&file, &names, image->functions.items[i]);
        bytes_add(&sections, &kernel, sizeof(kernel));
    }
    Elf64_Shdr own = cubin_section(&names, ".shstrtab", SHT_STRTAB, file.size, 0);
    own.sh_size = names.size;
    memcpy(sections.data + SECTION_NAMES * sizeof(own), &own, sizeof(own));
    bytes_add(&file, names.data, names.size);
    bytes_add(&file, NULL, (8 - file.size % 8) % 8);
    size_t at = bytes_add(&file, sections.data, sections.size);
    cubin_header(&file, at, KERNELS + image->functions.count);
    free(names.data);
    free(symbol_names.data);
    free(symbols.data);
    free(sections.data);
    *size = file.size;
    return file.data;
}
