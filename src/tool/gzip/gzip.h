/*
 * Members of a .gz file, each of which can be unpacked alone and says where the next begins (member.h); several threads
 * make them, with a gzip each.
 */
#ifndef GPUTRACE_TOOL_GZIP_GZIP_H
#define GPUTRACE_TOOL_GZIP_GZIP_H

#include <stddef.h>

struct gzip;
struct sink;

/* NULL after error(). */
struct gzip *gzip_new(void);
/* Also of NULL. */
void gzip_free(struct gzip *gzip);

/* Adds to OUT, a sink in memory, members that hold SIZE bytes of DATA: one for each MiB begun; 0 bytes make one too.
 * Gives 0, or -1 with errno set. */
int gzip_members(struct gzip *gzip, struct sink *out, const char *data, size_t size);

#endif
