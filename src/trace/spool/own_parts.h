/*
 * The library's own records of a spool, copied when it is opened, out of the files or unpacked: indexes point to them.
 */
#ifndef GPUTRACE_TRACE_SPOOL_OWN_PARTS_H
#define GPUTRACE_TRACE_SPOOL_OWN_PARTS_H

struct spool_file;

/* Copies the parts of SPOOL_RECORDS: what they hold is pointed to as long as FILE is open. Where they are many, each is
 * copied up to the first record that cannot be one. DIRECTORY is where that may lie; NULL: in memory. Gives 0, or -1
 * after error(). */
int own_parts_copy(struct spool_file *file, const char *directory);
void own_parts_release(struct spool_file *file);

#endif
