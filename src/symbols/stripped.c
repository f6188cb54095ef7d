/*
 * Python's garbage collector in an interpreter without private symbols, as Debian and Ubuntu ship it: the function of
 * the collector is the one without a name that PyGC_Collect(), which is public, calls. Where
 * functions begin is in the table for exceptions.
 */
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <string.h>

#include "common/log.h"
#include "common/memory.h"
#include "symbols/symbols.h"

#define PUBLIC "PyGC_Collect"
#define PRIVATE "gc_collect" /* what the interpreter calls its functions begins so */

/* x86-64's call of a function at a distance from the next instruction. */
#define CALL 0xe8
#define CALL_BYTES 5

/* Smaller functions that it calls keep an exception meanwhile. */
#define SMALLEST 64

/* NULL: there is none, or private functions have names. */
static const struct symbol *find_public(const struct symbol_table *table)
{
    const struct symbol *found = NULL;
    for (size_t i = 0; i < table->items.count; i++) {
        const char *name = table->items.items[i].name;
        if (strncmp(name, PRIVATE, strlen(PRIVATE)) == 0)
            return NULL;
        if (*name == 'P' && strcmp(name, PUBLIC) == 0)
            found = &table->items.items[i];
    }
    return found;
}

/* SIZE bytes at ADDRESS, as the file says it. NULL: they cannot be read. */
static const unsigned char *read_bytes(Elf *elf, uint64_t address, uint64_t size)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || address < segment.p_vaddr)
            continue;
        uint64_t at = address - segment.p_vaddr;
        if (at > segment.p_filesz || size > segment.p_filesz - at)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + at), size, ELF_T_BYTE);
        return data && data->d_size == size ? data->d_buf : NULL;
    }
    return NULL;
}

/* Where functions begin, in order: the table of PT_GNU_EH_FRAME. */
struct beginnings {
    const unsigned char *entries; /* pairs of numbers of 32 bits, the first of each relative to … */
    uint64_t base;                /* … this address */
    uint32_t count;
};

#define HEADER_BYTES 12
#define ENTRY_BYTES 8

static void read_beginnings(Elf *elf, struct beginnings *beginnings)
{
    static const unsigned char usual[] = {1, 0x1b, 0x03, 0x3b}; /* the version, and how numbers are written */
    size_t count = 0;
    *beginnings = (struct beginnings){0};
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
            continue;
        const unsigned char *bytes = read_bytes(elf, segment.p_vaddr, segment.p_filesz);
        if (!bytes || segment.p_filesz < HEADER_BYTES || memcmp(bytes, usual, sizeof(usual)) != 0)
            return;
        memcpy(&beginnings->count, bytes + 8, sizeof(beginnings->count));
        if (beginnings->count > (segment.p_filesz - HEADER_BYTES) / ENTRY_BYTES)
            beginnings->count = 0;
        beginnings->entries = bytes + HEADER_BYTES;
        beginnings->base = segment.p_vaddr;
    }
}

static uint64_t beginning(const struct beginnings *beginnings, uint32_t number)
{
    return beginnings->base + (uint64_t)(int64_t)LOAD(int32_t, beginnings->entries + (size_t)number * ENTRY_BYTES);
}

/* The bytes from the beginning of the function at ADDRESS to that of the next; 0: none begins there. */
static uint64_t size_of_function(const struct beginnings *beginnings, uint64_t address)
{
    uint32_t low = 0, high = beginnings->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (beginning(beginnings, middle) < address)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low + 1 < beginnings->count && beginning(beginnings, low) == address;
    return found ? beginning(beginnings, low + 1) - address : 0;
}

int symbol_table_name_collector(struct symbol_table *table, Dwfl_Module *module)
{
    GElf_Addr bias = 0;
    GElf_Ehdr header;
    struct beginnings beginnings;
    const struct symbol *public = find_public(table);
    Elf *elf = public ? dwfl_module_getelf(module, &bias) : NULL;
    if (!elf || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
        return 0;
    const uint64_t start = public->address, size = public->size;
    const unsigned char *code = read_bytes(elf, start - bias, size);
    read_beginnings(elf, &beginnings);
    for (uint64_t i = 0; code && i + CALL_BYTES <= size; i++) {
        uint64_t called = start + i + CALL_BYTES + (uint64_t)(int64_t)LOAD(int32_t, code + i + 1);
        if (code[i] != CALL || symbol_table_find(table, called))
            continue;
        uint64_t bytes = size_of_function(&beginnings, called - bias);
        if (bytes < SMALLEST)
            continue;
        if (!ADD(array_push, &table->items, (struct symbol){called, bytes, PRIVATE, 0}))
            return error_no_memory("symbols");
        symbol_table_sort(table);
    }
    return 0;
}
