/*
 * The first bytes of a trace file, to see what it is before it is read.
 */
#ifndef GPUTRACE_TRACE_GZIP_PEEK_H
#define GPUTRACE_TRACE_GZIP_PEEK_H

#include <stddef.h>

/*
 * Reads up to SIZE bytes of what PATH ("-": stdin) holds, unpacked where it is gzip, into BYTES. A file, pipe or socket
 * loses none of them: the next reader of PATH gets them again. It waits for the first bytes of a pipe or socket.
 * A FIFO stays open for peek_take_fifo(). Returns how many there are; 0 when it is empty or cannot be opened. Prints
 * nothing. Of one thread at a time.
 */
size_t peek(const char *path, char *bytes, size_t size);

/* The descriptor of the FIFO that peek() opened last, the caller's from now on; -1 when PATH is not that FIFO. */
int peek_take_fifo(const char *path);

#endif
