/*
 * Compression from memory to memory, in one of two forms: members of a .gz file, or zlib streams, which another file
 * format contains. Several threads compress at once, with a gzip each.
 */
#ifndef GPUTRACE_TRACE_GZIP_GZIP_H
#define GPUTRACE_TRACE_GZIP_GZIP_H

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

#endif
