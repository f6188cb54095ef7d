/*
 * Reads the bytes of a trace file: plain or gzip (recognised by content, of one member or several), from a file or
 * stdin.
 */
#ifndef GPUTRACE_TRACE_GZIP_SOURCE_H
#define GPUTRACE_TRACE_GZIP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads up to SIZE of the first bytes of PATH ("-": stdin), unpacked where it is gzip, into BYTES. A file, pipe or
 * socket loses none of them: the next source_open() of PATH reads them again. It waits for the first bytes of a pipe or
 * socket. Returns how many there are; 0 when it is empty or cannot be opened. Prints nothing. For one thread at a time.
 */
size_t peek(const char *path, char *bytes, size_t size);

/*
 * A file from its start to its end. Threads unpack our own .gz files ahead; what is read is the same, but threads may
 * read more of what stands before damage.
 */
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

/* A failure of reading, which is reported when the reader has come to its place. */
struct source_failure {
    bool failed;
    bool cut_off;      /* the file ends within a member */
    int number;        /* errno; 0: MESSAGE is gzip's */
    char message[128]; /* cut */
};

/* Opens PATH ("-": stdin). WORKERS: threads that unpack, 0: as many as there are processors for us. Returns 0, or -1
 * after error(): then there is nothing to close, which does no harm. */
int source_open(struct source *source, const char *path, unsigned workers);
void source_close(struct source *source);

/* Fills DATA with the next SIZE bytes, or fewer at the end. Returns how many; where FAILURE is set, what came before is
 * in DATA. */
size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure);

/* About how many bytes of the file were unpacked to give what was read. */
uint64_t source_packed(const struct source *source);

/* Prints the failure; returns -1. */
int source_error(const struct source *source, const struct source_failure *failure);

/*
 * The members of one of our .gz files (gzip.h), unpacked by threads ahead of their reader.
 *
 * A member is unpacked where the one before it says that it ends. Its text is given only when the member fills exactly
 * the size that it names, gzip's checksum is right, and so it was for all members before it. At the first member that
 * breaks this the threads end, and the rest is read as any gzip, which reports what is wrong. So the text does not
 * depend on what the size fields say.
 */

/* Reads FD, a file that stays open, from OFFSET on, without moving its offset. WORKERS: threads that the reader of the
 * text has, 0: as many as there are processors for us; about half as many unpack. NULL: not possible, or not worth it:
 * the file is small, not a regular one, or not ours, or there are fewer than three workers. Prints nothing. */
struct unpacking *unpacking_begin(int fd, uint64_t offset, unsigned workers);

/* The text of the next member, valid until the next call, of 0 bytes or more. False: there is none, or none of ours. */
bool unpacking_next(struct unpacking *unpacking, const char **text, size_t *size);

/* Returns the offset in the file behind the last member that was given. */
uint64_t unpacking_end(struct unpacking *unpacking);

#endif
