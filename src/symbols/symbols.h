/*
 * Names for the addresses of processes that are dead: function, source file and line, from the files that were mapped
 * there, by their symbols and their debugging information (ELF, DWARF; separate .debug files too), with elfutils.
 *
 * A file that is gone, or was replaced after the process mapped it, names nothing: the frame then has its module and
 * offset alone. Files are kept open, and what was found is kept, until symbols_free().
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

/* SINCE is when the first of the processes began, ns of CLOCK_REALTIME. Takes DEBUGINFOD_URLS out of this process's
 * environment. NULL after error(). */
struct symbols *symbols_new(uint64_t since);
void symbols_free(struct symbols *symbols);

/* What convert_spool() calls. Valid as long as SYMBOLS; not for several threads at once. */
struct frame_namer symbols_namer(struct symbols *symbols);

/* --- what was mapped: the lines of /proc/PID/maps --- */

struct mapping {
    uint64_t start, end;
    uint64_t offset;  /* of START in the file */
    uint64_t inode;   /* 0: no file */
    const char *path; /* of the names given to mappings_read(): "", "[vdso]", "/lib/libm.so.6", "/tmp/x.so (deleted)" */
};

struct mappings {
    ARRAY(struct mapping) items; /* as they came */
};

/* All zero is empty. */
void mappings_release(struct mappings *mappings);

/* Adds the mappings in LENGTH bytes at TEXT; a line that is not one of a maps file is passed over. Paths are put into
 * NAMES. Returns 0, or -1 after error(). */
int mappings_read(struct mappings *mappings, struct names *names, const char *text, size_t length);

/* The mapping of ADDRESS: the last one that was read. NULL: none. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/* --- the functions of a file, by their addresses: object.c --- */

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

/* stripped.c: names the function of Python's garbage collector, if MODULE is an interpreter without its private
 * symbols: "gc_collect". Returns 0, or -1 after error(). */
int symbol_table_name_collector(struct symbol_table *table, struct Dwfl_Module *module);

/* The name of the function that ADDRESS lies in, not of one that ends before it. NULL: none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* --- a program or library with its symbols and debugging information: object.c --- */

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

/* --- stacks of threads that crashed: snapshot.c --- */

/* Does what frame_namer's unwind() says, for x86-64. A file that is newer than SINCE does not count (object_open()). */
size_t unwind_snapshot(uint64_t since, const struct mappings *mappings, const struct stack_snapshot *snapshot,
                       uint64_t *addresses, size_t most);

#endif
