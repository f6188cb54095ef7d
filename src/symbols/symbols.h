/*
 * Names for the addresses of processes that are dead: function, source file and line, from the files that were mapped
 * there, by their symbols and their debugging information (ELF, DWARF; separate .debug files too), with elfutils.
 *
 * A file that is gone, or was replaced after the process mapped it, names nothing: the frame then has its module and
 * offset alone. Files are kept open, and what was found is kept, until symbols_free().
 */
#ifndef GPUTRACE_SYMBOLS_SYMBOLS_H
#define GPUTRACE_SYMBOLS_SYMBOLS_H

#include <stdint.h>

#include "trace/frames.h"

struct symbols;

/* SINCE is when the first of the processes began, ns of CLOCK_REALTIME. Takes DEBUGINFOD_URLS out of this process's
 * environment. NULL after error(). */
struct symbols *symbols_new(uint64_t since);
void symbols_free(struct symbols *symbols);

/* What convert_spool() calls. Valid as long as SYMBOLS; not for several threads at once. */
struct frame_namer symbols_namer(struct symbols *symbols);

#endif
