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

struct mappings {
    ARRAY(struct mapping) items; /* in the order in which they were read */
};

/* A struct of zeros is empty. */
void mappings_release(struct mappings *mappings);

/* Adds the mappings in LENGTH bytes of TEXT. A line that is not of a maps file is skipped. NAMES own the paths. Returns
 * 0, or -1 after error(). */
int mappings_read(struct mappings *mappings, struct names *names, const char *text, size_t length);

/* Returns the mapping that contains ADDRESS, the last read if there are several, or NULL. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

#endif
