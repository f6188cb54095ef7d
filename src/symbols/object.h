/*
 * A program or library: its functions by their symbols, lines and inlined calls by its debugging information.
 */
#ifndef GPUTRACE_SYMBOLS_OBJECT_H
#define GPUTRACE_SYMBOLS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/frames.h"
#include "trace/names.h"

/* --- the functions of a file, by their addresses --- */

struct Dwfl;
struct Dwfl_Module;

/* libdwfl would go through all symbols for each address, and large libraries have a million. */
struct symbol_table {
    ARRAY(struct symbol {
        uint64_t address; /* as the module has it */
        uint64_t size;    /* 0: not known */
        const char *name; /* the module's */
        unsigned rank;    /* the greatest is the best name for what has several */
    })
    items;
};

/* Reads the symbols of MODULE into a table that is all zero. Returns 0, or -1 after error(). */
int symbol_table_read(struct symbol_table *table, struct Dwfl_Module *module);

/* Puts the table in order; must be called after items were added. */
void symbol_table_sort(struct symbol_table *table);

/* The name of the function that ADDRESS lies in, not of one that ends before it. NULL: none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* --- a file with its symbols and debugging information --- */

/* An open file; one serves all processes that mapped it. */
struct object {
    struct Dwfl *dwfl;
    struct Dwfl_Module *module; /* NULL: its addresses have no names */
    struct symbol_table symbols;
    bool symbols_read;
    struct map known;                 /* offset in the file -> index + 1 in places */
    ARRAY(struct stack_frame) places; /* their `inlined` is the object's */
};

/* Opens the file at PATH, which had the number INODE when it was mapped; it is not used when it has another one and
 * was changed after SINCE (ns of CLOCK_REALTIME). A file that cannot be used gives an object that names nothing. */
void object_open(struct object *object, const char *path, uint64_t inode, uint64_t since);
void object_close(struct object *object);

/* Sets what is known of the code at OFFSET in the file: function, file, line and inlined calls; texts are put into
 * NAMES. Returns 0, or -1 after error(). */
int object_name(struct object *object, struct names *names, uint64_t offset, struct stack_frame *frame);

#endif
