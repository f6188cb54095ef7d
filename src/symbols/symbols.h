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

#endif
