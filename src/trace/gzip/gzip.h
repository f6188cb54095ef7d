/*
 * Compression from memory to memory, to members of a .gz file or to zlib streams, which another file format contains.
 * Several threads may compress at once, each with its own struct gzip. And reading of a trace file, plain or gzip
 * (recognised by its content), from a file or stdin.
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

/* Creates a compressor. Returns NULL after error(). */
struct gzip *gzip_new(enum gzip_form form);
enum gzip_form gzip_form(const struct gzip *gzip);
/* Frees GZIP, which may be NULL. */
void gzip_free(struct gzip *gzip);

/* Appends members with SIZE bytes of DATA, a MiB each, to OUT, a buffer in memory; 0 bytes make a member, too.
 * Returns 0, or -1 with errno set. */
int gzip_members(struct gzip *gzip, struct buffer *out, const char *data, size_t size);

/* Appends one zlib stream with DATA to OUT, a buffer in memory. Returns 0, or -1 with errno set. */
int gzip_stream(struct gzip *gzip, struct buffer *out, const char *data, size_t size);

/* Replaces OUT, a buffer in memory, by what the zlib stream DATA holds. Returns 0, or -1 with errno set: EBADMSG if
 * DATA is not one whole stream, or holds MOST bytes or more; otherwise there is no memory. */
int gzip_unpack_stream(struct buffer *out, const uint8_t *data, size_t size, size_t most);

/*
 * A member of our .gz files: gzip's header (RFC 1952) has an extra field with the size of the whole member, so a reader
 * can read and unpack it at once. Other readers skip the field.
 */
enum {
    MEMBER_SIZE_AT = 16, /* bytes from the member's start; low byte first */
    MEMBER_HEAD_SIZE = 20,
    MEMBER_TAIL_SIZE = 8,           /* a checksum, and the length of the text */
    MEMBER_TEXT_MOST = 1 << 20,     /* bytes of text; more text becomes several members */
    MEMBER_SIZE_MOST = 1088 * 1024, /* bound on the member's size for this text */
};

/* Returns the member's size from the MEMBER_HEAD_SIZE bytes of its header, or 0 if it is not one of ours. */
size_t member_size(const uint8_t *head);

/* --- reading --- */

/* Reads up to SIZE of the first bytes of PATH ("-": stdin), unpacked if it is gzip, to BYTES. The next source_open() of
 * PATH reads these bytes again, even from a pipe or socket. Waits for the first bytes of a pipe or socket. Returns
 * their number, 0 if the file is empty or cannot be opened. Prints nothing. Only one thread at a time may call it. */
size_t peek(const char *path, char *bytes, size_t size);

/* An open file, read from start to end. */
struct gzFile_s;
struct member_reader;

struct source {
    const char *path; /* for messages: "standard input" for "-" */
    /* At most one of these two is set: */
    struct member_reader *members; /* reads `fd` while members are our own */
    struct gzFile_s *file;
    int fd;
};

/* A failure of reading. The caller reports it when it has used the bytes before it. */
struct source_failure {
    bool failed;
    bool cut_off;      /* the file ends within a member */
    int number;        /* errno; 0: zlib's MESSAGE applies */
    char message[128]; /* may be cut */
};

/* Opens PATH ("-": stdin). Returns 0, or -1 after error(). After a failure, closing is not needed and harmless. */
int source_open(struct source *source, const char *path);
void source_close(struct source *source);

/* Reads the next SIZE bytes to DATA, or fewer at the end. Returns their number; if FAILURE is set, these are the bytes
 * before the failure. */
size_t source_read(struct source *source, char *data, size_t size, struct source_failure *failure);

/* Returns about how many bytes of the file were unpacked so far. */
uint64_t source_packed(const struct source *source);

/* Prints FAILURE. Returns -1. */
int source_error(const struct source *source, const struct source_failure *failure);

#endif
