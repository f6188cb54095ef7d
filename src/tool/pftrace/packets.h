/*
 * The packets of a .pftrace, one after another, plain or gzip.
 */
#ifndef GPUTRACE_TOOL_PFTRACE_PACKETS_H
#define GPUTRACE_TOOL_PFTRACE_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/protobuf.h"

struct gzFile_s;

struct packets {
    const char *path; /* as messages name it */
    struct gzFile_s *file;
    uint8_t *window;
    size_t begin, end, capacity; /* what is in the window and not given yet */
    uint64_t offset;             /* of window[begin] in the unpacked file */
    bool at_end;
};

/* Gives 0, or -1 after error(), then there is nothing to close. */
int packets_open(struct packets *packets, const char *path);
void packets_close(struct packets *packets);

/* 1: PACKET is its body, valid until the next call; 0: the end; -1 after error(). */
int packets_next(struct packets *packets, struct protobuf_reader *packet);

#endif
