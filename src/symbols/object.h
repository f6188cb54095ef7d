/*
 * Names the code of a program or library: functions by symbols, lines and inlined calls by debugging information.
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

/* The functions of a file. libdwfl itself searches all symbols for each address, and large libraries have a million. */
struct symbol_table {
    ARRAY(struct symbol {
        uint64_t address; /* as libdwfl returns it */
        uint64_t size;    /* 0: unknown */
        const char *name; /* owned by the module */
        unsigned rank;    /* of several names of an address the one with the highest rank is used */
    })
    items;
};

/* Reads the symbols of MODULE into a table that is all zero. Returns 0, or -1 after error(). */
int symbol_table_read(struct symbol_table *table, struct Dwfl_Module *module);

/* Sorts the table. Must be called after items were added. */
void symbol_table_sort(struct symbol_table *table);

/* Returns the name of the function that contains ADDRESS, or NULL if there is none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* --- a file with its symbols and debugging information --- */

/* An open file, shared by all processes that mapped it. */
struct object {
    struct Dwfl *dwfl;
    struct Dwfl_Module *module; /* NULL: the file names nothing */
    struct symbol_table symbols;
    bool symbols_read;
    struct map known;                 /* offset in the file -> index + 1 in places */
    ARRAY(struct stack_frame) places; /* the object owns their `inlined` */
};

/* Opens the file at PATH, which had the number INODE when it was mapped. A file that now has another number and was
 * changed after SINCE (ns of CLOCK_REALTIME) is not used. An object without a file names nothing. */
void object_open(struct object *object, const char *path, uint64_t inode, uint64_t since);
void object_close(struct object *object);

/* Sets function, file, line and inlined calls of FRAME for the code at OFFSET in the file, as far as they are known.
 * NAMES owns the texts. Returns 0, or -1 after error(). */
int object_name(struct object *object, struct names *names, uint64_t offset, struct stack_frame *frame);

#endif
