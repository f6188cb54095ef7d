/*
 * The members of a .gz file of ours, unpacked by threads ahead of the thread that takes their text in the file's order.
 *
 * A member is unpacked where the one before it says that it ends (member.h), and taken only when it fills exactly what
 * it says of itself, with gzip's checksum right, and all before it did so too. At the first of which that is not true
 * this ends: the rest of the file is for the reader of any gzip, who says what is wrong. So the text is the same as
 * if one had read it, whatever the fields say.
 */
#ifndef GPUTRACE_TRACE_GZIP_UNPACKING_H
#define GPUTRACE_TRACE_GZIP_UNPACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpacking;

/*
 * Reads FD, a file that stays open, from OFFSET on, without moving its offset. WORKERS: threads that the one that takes
 * the text has, 0: as many as there are processors for us; about half as many unpack. NULL: this is not worth it, or
 * not possible: the file is small, no regular one, or none of ours; or there are less than three workers, among which
 * unpacking by the thread that wants the text is shared well enough. Prints nothing.
 */
struct unpacking *unpacking_begin(int fd, uint64_t offset, unsigned workers);

/* The text of the next member, valid until the next call, of 0 bytes or more. False: there is none, or none of ours. */
bool unpacking_next(struct unpacking *unpacking, const char **text, size_t *size);

/* Returns the offset in the file behind the last member that was given. */
uint64_t unpacking_end(struct unpacking *unpacking);

#endif
