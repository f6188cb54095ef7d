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

/* A file from its start to its end. */
struct gzFile_s;
struct member_reader;

struct source {
    const char *path; /* as messages name it: "standard input" for "-" */
    /* At most one of these: */
    struct member_reader *members; /* of `fd`, as long as members are our own */
    struct gzFile_s *file;
    int fd;
};

/* A failure of reading, which is reported when the reader has come to its place. */
struct source_failure {
    bool failed;
    bool cut_off;      /* the file ends within a member */
    int number;        /* errno; 0: MESSAGE is gzip's */
    char message[128]; /* cut */
};

/* Opens PATH ("-": stdin). Returns 0, or -1 after error(): then there is nothing to close, which does no harm. */
int source_open(struct source *source, const char *path);
void source_close(struct source *source);

/* Fills DATA with the next SIZE bytes, or fewer at the end. Returns how many; where FAILURE is set, what came before is
 * in DATA. */
size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure);

/* About how many bytes of the file were unpacked to give what was read. */
uint64_t source_packed(const struct source *source);

/* Prints the failure; returns -1. */
int source_error(const struct source *source, const struct source_failure *failure);

#endif
