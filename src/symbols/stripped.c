/*
 * Python's garbage collector in an interpreter without private symbols, as Debian and Ubuntu ship it: the function of
 * the collector is the one without a name that PyGC_Collect(), which is public, calls. Functions begin where a table
 * for exceptions (.eh_frame) says.
 */
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "symbols/symbols.h"

#define PUBLIC "PyGC_Collect"
#define PRIVATE "gc_collect" /* what the interpreter calls its functions begins so */

/* x86-64's call of a function at a distance from the next instruction. */
#define CALL 0xe8
#define CALL_BYTES 5

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

/* The code of SYMBOL. NULL: it cannot be read. */
static Elf_Data *read_code(Elf *elf, const struct symbol *symbol, uint64_t bias)
{
    GElf_Ehdr header;
    size_t count = 0;
    if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 || elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        uint64_t address = symbol->address - bias;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || address < segment.p_vaddr ||
            address - segment.p_vaddr > segment.p_filesz ||
            symbol->size > segment.p_filesz - (address - segment.p_vaddr))
            continue;
        return elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + address - segment.p_vaddr), symbol->size,
                                    ELF_T_BYTE);
    }
    return NULL;
}

/* The bytes of the function that begins at ADDRESS; 0: none does. */
static uint64_t size_of_function(Dwfl_Module *module, uint64_t address)
{
    Dwarf_Addr bias = 0, start = 0, end = 0;
    Dwarf_CFI *rules = dwfl_module_eh_cfi(module, &bias);
    Dwarf_Frame *frame = NULL;
    if (!rules || dwarf_cfi_addrframe(rules, address - bias, &frame) != 0)
        return 0;
    dwarf_frame_info(frame, &start, &end, NULL);
    free(frame);
    return start == address - bias && end > start ? end - start : 0;
}

int symbol_table_name_collector(struct symbol_table *table, Dwfl_Module *module)
{
    GElf_Addr bias = 0;
    const struct symbol *public = find_public(table);
    Elf *elf = public ? dwfl_module_getelf(module, &bias) : NULL;
    const Elf_Data *code = elf ? read_code(elf, public, bias) : NULL;
    const uint64_t start = public ? public->address : 0;
    for (size_t i = 0; code && i + CALL_BYTES <= code->d_size; i++) {
        const unsigned char *at = (const unsigned char *)code->d_buf + i;
        int32_t distance;
        memcpy(&distance, at + 1, sizeof(distance));
        uint64_t address = start + i + CALL_BYTES + (uint64_t)(int64_t)distance;
        uint64_t size = *at == CALL && !symbol_table_find(table, address) ? size_of_function(module, address) : 0;
        if (size == 0)
            continue;
        struct symbol *added = array_push(&table->items);
        if (!added)
            return error_no_memory("symbols");
        *added = (struct symbol){address, size, PRIVATE, 0};
        symbol_table_sort(table);
    }
    return 0;
}
