/*
 * Compression from memory to memory, in one of two forms: members of a .gz file, or zlib streams, which another file
 * format contains. Several threads compress at once, with a gzip each. And the reading of a trace file, plain or gzip
 * (recognised by content, of one member or several), from a file or stdin.
 */
#ifndef GPUTRACE_TRACE_GZIP_GZIP_H
#define GPUTRACE_TRACE_GZIP_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gzip;
struct buffer;

enum gzip_form {
    GZIP_MEMBERS, /* gzip_members(): RFC 1952 */
    GZIP_STREAMS, /* gzip_stream(): RFC 1950 */
};

/* Makes a compressor. NULL after error(). */
struct gzip *gzip_new(enum gzip_form form);
enum gzip_form gzip_form(const struct gzip *gzip);
/* Frees GZIP, which may be NULL. */
void gzip_free(struct gzip *gzip);

/* Adds to OUT, a buffer in memory, members that hold SIZE bytes of DATA, a MiB each; 0 bytes make one too.
 * Returns 0, or -1 with errno set. */
int gzip_members(struct gzip *gzip, struct buffer *out, const char *data, size_t size);

/* Adds to OUT, a buffer in memory, one zlib stream that holds DATA. Returns 0, or -1 with errno set. */
int gzip_stream(struct gzip *gzip, struct buffer *out, const char *data, size_t size);

/* Makes OUT, a buffer in memory, what the zlib stream DATA holds. Returns 0, or -1 with errno set: EBADMSG, DATA is not
 * one whole stream, or holds MOST bytes or more; else no memory. */
int gzip_unpack_stream(struct buffer *out, const uint8_t *data, size_t size, size_t most);

/*
 * A member of our .gz files: gzip's header (RFC 1952) has an extra field with the size of the whole member, so it can
 * be read and unpacked whole. Other readers skip the field.
 */
enum {
    MEMBER_SIZE_AT = 16, /* bytes from the member's start; low byte first */
    MEMBER_HEAD_SIZE = 20,
    MEMBER_TAIL_SIZE = 8,           /* a checksum, and the length of the text */
    MEMBER_TEXT_MOST = 1 << 20,     /* of text: more becomes several members */
    MEMBER_SIZE_MOST = 1088 * 1024, /* what that becomes at worst */
};

/* The size that the MEMBER_HEAD_SIZE bytes of a header name; 0: it is not one of ours. */
size_t member_size(const uint8_t *head);

/* --- reading --- */

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
