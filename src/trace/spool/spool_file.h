/*
 * One spool file: its header, checked, and its chunks in the order in which they were handed out.
 *
 * The file may be cut, damaged, or still being written, also by a program that writes anywhere. Nothing in it is
 * trusted: what lies outside the file, is not aligned, or has no chunk's magic ends the list there, and `damaged`
 * counts such places. Bytes are copied first, then checked, then used: nothing is looked at in the file itself, which
 * may have changed since. So the library's own records, to which indexes point, are copied when the spool is opened;
 * what CUPTI has recorded is read when it is asked for, each time as it is then. What the launcher has drained and
 * packed is among the parts, and is unpacked on the way. What becomes shorter while it is read reads as zeros, and
 * closing says so.
 */
#ifndef GPUTRACE_TRACE_SPOOL_SPOOL_FILE_H
#define GPUTRACE_TRACE_SPOOL_SPOOL_FILE_H

#include <stdint.h>

#include "trace/spool/spool_parts.h"

/*
 * DIRECTORY is the caller's as long as the file is open: the copy of the library's own records lies there, in a file
 * without a name, as large as they were before they were packed; NULL: in memory. FILE stays where it is meanwhile.
 *
 * Returns 0; 1 when the file holds nothing yet (its writer died before the header was whole) or is not a spool that
 * this version reads, after warning(); -1 after error(). Only after 0 there is something to close.
 */
int spool_file_open(struct spool_file *file, const char *path, const char *directory);
/* The same of a process that has ended: its entry is at OFFSET of the file PATH. */
int spool_file_open_ended(struct spool_file *file, const char *path, uint64_t offset, const char *directory);
void spool_file_close(struct spool_file *file);

#endif
