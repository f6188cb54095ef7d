/*
 * A trace as it stands in a .pftrace file: each section is compressed into one packet (compressed_packets, see
 * fields.h), and so is what stands before the first one. The file becomes a third as large or less.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_COMPRESSED_H
#define GPUTRACE_TRACE_PFTRACE_COMPRESSED_H

#include <stdbool.h>
#include <stddef.h>

struct gzip;
struct buffer;

/* Adds to OUT, a buffer in memory, what the packets of DATA become in the file. *DONE is set to the number of bytes
 * that were used; the rest, a section that may not be whole, must be given again together with what follows it. ALL:
 * nothing follows, and every byte is used. GZIP makes streams. Gives 0, or -1 with errno set. */
int pftrace_compress(struct gzip *gzip, struct buffer *out, const char *data, size_t size, bool all, size_t *done);

#endif
