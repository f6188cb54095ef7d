/*
 * Names addresses of processes that have ended: function, source file and line, from symbols and debugging information
 * (ELF, DWARF; separate .debug files too) of the files that were mapped there, with elfutils.
 *
 * A file that is gone, or was replaced after the process mapped it, names nothing: the frame then has only its module
 * and offset. Files stay open and results are kept until symbols_free().
 */
#ifndef GPUTRACE_SYMBOLS_SYMBOLS_H
#define GPUTRACE_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/frames.h"
#include "trace/names.h"

struct symbols;

/* SINCE is when the first of the processes began, ns of CLOCK_REALTIME. Removes DEBUGINFOD_URLS from this process's
 * environment. Returns NULL after error(). */
struct symbols *symbols_new(uint64_t since);
void symbols_free(struct symbols *symbols);

/* Returns the functions that convert_spool() calls, valid until symbols_free(). Only one thread at a time may call
 * them. */
struct frame_namer symbols_namer(struct symbols *symbols);

/* --- what was mapped: the lines of /proc/PID/maps --- */

struct mapping {
    uint64_t start, end;
    uint64_t offset;  /* of START in the file */
    uint64_t inode;   /* 0 if no file is mapped */
    const char *path; /* owned by names: "", "[vdso]", "/lib/libm.so.6", "/tmp/x.so (deleted)" */
};

/* A struct of zeros is empty. Release it with array_release(). */
struct mappings {
    ARRAY(struct mapping) items; /* in the order in which they were read */
};

/* Adds the mappings in LENGTH bytes of TEXT. A line that is not of a maps file is skipped. NAMES own the paths. Returns
 * 0, or -1 after error(). */
int mappings_read(struct mappings *mappings, struct names *names, const char *text, size_t length);

/* Returns the mapping that contains ADDRESS, the last read if there are several, or NULL. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

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
