#include "core/image_read.h"

#include <ctype.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_WRAPPER "\xb1\x43\x62\x46"
#define FATBIN "\x50\xed\x55\xba"

enum { NAME_MOST = 4096 };

/* ---- PTX ---- */

static const char *ptx_skip_space(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static const char *ptx_name(const char *text, char name[NAME_MOST])
{
    text = ptx_skip_space(text);
    size_t length = 0;
    while ((isalnum((unsigned char)*text) || strchr("_$%", *text)) && *text && length < NAME_MOST - 1)
        name[length++] = *text++;
    name[length] = '\0';
    return text;
}

/* The next DIRECTIVE that is a word of its own, or NULL. Comments and strings are not recognised: compilers write none
 * there. */
static const char *ptx_find(const char *text, const char *directive)
{
    size_t length = strlen(directive);
    for (const char *found = strstr(text, directive); found; found = strstr(found + 1, directive))
        if (isspace((unsigned char)found[length]) && (found == text || isspace((unsigned char)found[-1])))
            return found + length;
    return NULL;
}

static void ptx_read_entries(struct image *image, const char *text)
{
    char name[NAME_MOST];
    while ((text = ptx_find(text, ".entry"))) {
        text = ptx_name(text, name);
        if (*name)
            image_add_function(image, name);
    }
}

/* Bytes of a type such as .b8, .u32, .f64. */
static size_t ptx_type_size(const char *type)
{
    while (isalpha((unsigned char)*type) || *type == '.')
        type++;
    return (size_t)strtoul(type, NULL, 10) / 8;
}

/* "[.align 4] .b8 name[16]" */
static void ptx_read_variable(struct image *image, const char *text)
{
    size_t size = 0;
    char name[NAME_MOST];
    for (text = ptx_skip_space(text); *text == '.'; text = ptx_skip_space(text)) {
        if (strncmp(text, ".align", 6) == 0)
            text = ptx_name(text + 6, name);
        else
            size = ptx_type_size(text);
        while (*text && !isspace((unsigned char)*text))
            text++;
    }
    text = ptx_name(text, name);
    if (*text == '[')
        size *= (size_t)strtoul(text + 1, NULL, 10);
    if (*name && size)
        image_add_global(image, name, size);
}

static void ptx_read(struct image *image, const char *text)
{
    ptx_read_entries(image, text);
    static const char *const spaces[] = {".global", ".const"};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = text; (at = ptx_find(at, spaces[i]));)
            ptx_read_variable(image, at);
    image->ptx = text;
    image->ptx_size = strlen(text);
}

/* ---- cubins ---- */

static void elf_read_function(struct image *image, const uint8_t *elf, const Elf64_Ehdr *header,
                              const Elf64_Shdr *section, const char *names)
{
    struct function *function = image_add_function(image, names + section->sh_name + strlen(".text."));
    function->registers = section->sh_info >> 24;
    const Elf64_Shdr *sections = (const void *)(elf + header->e_shoff);
    char shared[NAME_MOST];
    snprintf(shared, sizeof(shared), ".nv.shared.%s", function->name);
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, shared) == 0)
            function->static_shared = (unsigned)sections[i].sh_size;
}

static void elf_read_symbols(struct image *image, const uint8_t *elf, const Elf64_Shdr *table,
                             const Elf64_Shdr *strings)
{
    const Elf64_Sym *symbols = (const void *)(elf + table->sh_offset);
    const char *names = (const char *)elf + strings->sh_offset;
    for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT && symbols[i].st_size)
            image_add_global(image, names + symbols[i].st_name, symbols[i].st_size);
}

/* Up to the end of its last part. */
static size_t elf_size(const Elf64_Ehdr *header)
{
    size_t sections = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    size_t segments = header->e_phoff + (size_t)header->e_phnum * header->e_phentsize;
    return sections > segments ? sections : segments;
}

static void elf_read(struct image *image, const uint8_t *elf)
{
    const Elf64_Ehdr *header = (const void *)elf;
    const Elf64_Shdr *sections = (const void *)(elf + header->e_shoff);
    const char *names = (const char *)elf + sections[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (strncmp(names + sections[i].sh_name, ".text.", 6) == 0)
            elf_read_function(image, elf, header, &sections[i], names);
        else if (sections[i].sh_type == SHT_SYMTAB)
            elf_read_symbols(image, elf, &sections[i], &sections[sections[i].sh_link]);
    }
    image->cubin = elf;
    image->cubin_size = elf_size(header);
}

/* ---- fat binaries ---- */

/* What a fat binary begins with, what the program has of one, and what each image in it begins with. */
struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* without the header */
};

struct fatbin_wrapper {
    uint32_t magic, version;
    const struct fatbin_header *data;
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size; /* without the header, with padding */
    uint32_t compressed_size, unknown, ptx_version, arch;
};

enum { FATBIN_PTX = 1, FATBIN_CUBIN = 2, OUR_ARCH = 90 };

/* Takes the cubin for this device, if there is one, as far as it can be recognised; else the PTX. */
static void fatbin_read(struct image *image, const struct fatbin_header *header)
{
    const uint8_t *at = (const uint8_t *)header + header->header_size, *end = at + header->size;
    bool has_cubin = false;
    while (at + sizeof(struct fatbin_entry) <= end) {
        const struct fatbin_entry *entry = (const void *)at;
        const uint8_t *data = at + entry->header_size;
        if (entry->kind == FATBIN_CUBIN && entry->arch == OUR_ARCH) {
            has_cubin = true;
            if (memcmp(data, ELFMAG, SELFMAG) == 0) { /* not compressed */
                image->cubin = data;
                image->cubin_size = elf_size((const void *)data);
            }
        } else if (entry->kind == FATBIN_PTX) {
            image->ptx = data;
            image->ptx_size = entry->size;
        }
        at = data + entry->size;
    }
    if (has_cubin)
        image->ptx = NULL;
}

/* Reads no further than up to the first byte that differs: DATA may be shorter. */
static bool begins(const void *data, const char *magic)
{
    return strncmp(data, magic, strlen(magic)) == 0;
}

bool image_read(struct image *image, const void *data)
{
    bool wrapped = begins(data, FATBIN_WRAPPER);
    if (wrapped || begins(data, FATBIN)) {
        const struct fatbin_header *fatbin = wrapped ? ((const struct fatbin_wrapper *)data)->data : data;
        if (fatbin)
            fatbin_read(image, fatbin);
        return true;
    }
    image->closed = true;
    if (begins(data, ELFMAG)) {
        elf_read(image, data);
        return true;
    }
    bool text = isprint(*(const unsigned char *)data) || isspace(*(const unsigned char *)data);
    if (!text || !ptx_find(data, ".version"))
        return false;
    ptx_read(image, data);
    return true;
}
