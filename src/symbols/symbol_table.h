/*
 * The functions of a file in order of their addresses, by its symbols: libdwfl would go through all of them for each
 * address, and large libraries have a million.
 */
#ifndef GPUTRACE_SYMBOLS_SYMBOL_TABLE_H
#define GPUTRACE_SYMBOLS_SYMBOL_TABLE_H

#include <stdint.h>

#include "common/array.h"

struct Dwfl_Module;

struct symbol_table {
    ARRAY(struct symbol {
        uint64_t address; /* as the module has it */
        uint64_t size;    /* 0: not told */
        const char *name; /* the module's */
        unsigned rank;    /* the greatest is the best name for what has several */
    })
    items;
};

/* All zero is empty. */
void symbol_table_release(struct symbol_table *table);

/* Returns 0, or -1 after error(). */
int symbol_table_read(struct symbol_table *table, struct Dwfl_Module *module);

/* The name of the function that ADDRESS lies in, not of one that ends before it. NULL: none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
