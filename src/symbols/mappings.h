/*
 * The lines of /proc/PID/maps, and which of them an address lies in.
 */
#ifndef GPUTRACE_SYMBOLS_MAPPINGS_H
#define GPUTRACE_SYMBOLS_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "trace/names.h"

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

/* Takes the LENGTH bytes at TEXT, lines ended by newlines; what is no line of a maps file is passed over. Paths are put
 * into NAMES. Returns 0, or -1 after error(). */
int mappings_read(struct mappings *mappings, struct names *names, const char *text, size_t length);

/* The mapping of ADDRESS: the last one that was read. NULL: none. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

#endif
