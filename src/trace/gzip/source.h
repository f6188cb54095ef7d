/*
 * The bytes of a trace file from its start to its end: plain or gzip (recognised by its content, of one member or
 * several), from a file or stdin. Threads unpack files of ours ahead (unpacking.h); what is read is the same, but of
 * what stands before damage they may give more.
 */
#ifndef GPUTRACE_TRACE_GZIP_SOURCE_H
#define GPUTRACE_TRACE_GZIP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct gzFile_s;
struct unpacking;

struct source {
    const char *path; /* as messages name it: "standard input" for "-" */
    /* At most one of these: */
    struct unpacking *unpacking; /* of `fd` */
    struct gzFile_s *file;
    int fd;
    const char *text; /* unpacked, and not read yet */
    size_t left;      /* bytes of it */
};

/* What went wrong, to be reported when the reader has come to that place. */
struct source_failure {
    bool failed;
    bool cut_off;      /* the file ends within a member */
    int number;        /* errno; 0: MESSAGE is gzip's */
    char message[128]; /* cut */
};

/* Opens PATH ("-": stdin); WORKERS: threads that unpack, 0: as many as there are processors for us. Returns 0, or -1
 * after error(): then there is nothing to close, which does no harm. */
int source_open(struct source *source, const char *path, unsigned workers);
void source_close(struct source *source);

/* Fills DATA with the next SIZE bytes, or fewer at the end. Returns how many; where FAILURE is set, what came before is
 * in DATA. */
size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure);

/* Returns -1 after error(). */
int source_error(const struct source *source, const struct source_failure *failure);

/*
 * The first bytes of a trace file, to see what it is before it is read.
 */

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
