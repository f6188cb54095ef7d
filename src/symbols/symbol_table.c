#include "symbols/symbol_table.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

/* How many that begin later than the one around an address may end before it. */
#define NESTED_MAX 16

static bool is_function(const GElf_Sym *symbol, GElf_Word section)
{
    switch (GELF_ST_TYPE(symbol->st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC: return section != SHN_UNDEF;
    case STT_NOTYPE: return section != SHN_UNDEF && section != SHN_ABS && symbol->st_size > 0;
    default: return false;
    }
}

/* A public name is better than a private one, and of "write" and "__write" the first. */
static unsigned rank_of(const GElf_Sym *symbol, const char *name)
{
    size_t underscores = strspn(name, "_");
    unsigned plain = underscores < 8 ? 8 - (unsigned)underscores : 0;
    bool public = GELF_ST_BIND(symbol->st_info) != STB_LOCAL && GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
    return (symbol->st_size > 0 ? 32u : 0) + (public ? 16u : 0) + plain;
}

static int compare(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(b->name, a->name);
}

int symbol_table_read(struct symbol_table *table, Dwfl_Module *module)
{
    int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        if (!name || !*name || !is_function(&symbol, section))
            continue;
        struct symbol *added = array_push(&table->items);
        if (!added)
            return error_no_memory("symbols");
        *added = (struct symbol){address, symbol.st_size, name, rank_of(&symbol, name)};
    }
    if (table->items.count > 0)
        qsort(table->items.items, table->items.count, sizeof(*table->items.items), compare);
    return 0;
}

/* How many begin at ADDRESS or before. */
static size_t count_until(const struct symbol_table *table, uint64_t address)
{
    size_t low = 0, high = table->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->items.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
    size_t before = count_until(table, address);
    if (before > 0 && table->items.items[before - 1].size == 0)
        return table->items.items[before - 1].name;
    for (size_t i = 0; i < NESTED_MAX && i < before; i++) {
        const struct symbol *symbol = &table->items.items[before - 1 - i];
        if (address - symbol->address < symbol->size)
            return symbol->name;
    }
    return NULL;
}

void symbol_table_release(struct symbol_table *table)
{
    array_release(&table->items);
}
