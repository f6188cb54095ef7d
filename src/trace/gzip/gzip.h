/*
 * Compression from memory to memory, in one of two forms: members of a .gz file, each of which can be unpacked alone
 * and says where the next begins (member.h), or zlib streams, which a file format of its own holds. Several threads
 * compress at once, with a gzip each.
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

/* NULL after error(). */
struct gzip *gzip_new(enum gzip_form form);
enum gzip_form gzip_form(const struct gzip *gzip);
/* Also of NULL. */
void gzip_free(struct gzip *gzip);

/* Adds to OUT, a buffer in memory, members that hold SIZE bytes of DATA: one for each MiB begun; 0 bytes make one too.
 * Returns 0, or -1 with errno set. */
int gzip_members(struct gzip *gzip, struct buffer *out, const char *data, size_t size);

/* Adds to OUT, a buffer in memory, one zlib stream that holds DATA. Returns 0, or -1 with errno set. */
int gzip_stream(struct gzip *gzip, struct buffer *out, const char *data, size_t size);

/* Makes OUT, a buffer in memory, what the zlib stream DATA holds. Returns 0, or -1 with errno set: EBADMSG, DATA is not
 * one whole stream, or holds MOST bytes or more; else there was no memory. */
int gzip_unpack_stream(struct buffer *out, const uint8_t *data, size_t size, size_t most);

#endif
