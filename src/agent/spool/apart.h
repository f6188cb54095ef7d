/*
 * A segment whose memory is no part of the file any more (spool_file_rescue()): what came into it since is brought back
 * into the file, or counted.
 */
#ifndef GPUTRACE_AGENT_SPOOL_APART_H
#define GPUTRACE_AGENT_SPOOL_APART_H

#include <stdint.h>

#include "common/spool.h"

/* Writes the segment at BASE to OFFSET of the file FD. The launcher may be reading it there: whatever a chunk's header
 * says is there before it. Gives 0, or -1 with errno set: of what a header in the file tells nothing is lost even so.
 */
int apart_write(int fd, const char *base, uint64_t offset);

/* How many records of the segment at BASE are not at OFFSET of the file; a descriptor of -1: none is. RECORD_BYTES are
 * the sizes of CUPTI's kinds. -1: no memory to look at it. */
int64_t apart_missing(int fd, const char *base, uint64_t offset, const uint16_t record_bytes[SPOOL_CUPTI_KINDS]);

#endif
