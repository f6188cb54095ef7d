/*
 * A hang in sentences: "ranks 0, 1 and 3 wait in AllReduce #412 (4 MiB) of communicator 0x7f…; rank 2 never entered it:
 * its kernel spin() has been running since 12.3 s".
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_WORDS_H
#define GPUTRACE_ANALYSIS_HANG_HANG_WORDS_H

#include "analysis/hang/hang.h"

struct buffer;

/* The verdict. */
void hang_write_verdict(struct buffer *out, const struct hangs *hangs, const struct hang *hang);

/* "AllReduce #412 (4 MiB)"; of sends and receives with the other rank. */
void hang_write_operation(struct buffer *out, const struct hangs *hangs, const struct collective *own);

/* What the rank of PART did at the end: "its process died at 12.3 s by signal 11 (Segmentation fault)". */
void hang_write_doing(struct buffer *out, const struct hangs *hangs, const struct hang_part *part);

/* The number by which people know a rank: its rank, else its pid. */
int64_t hang_number(const struct hangs *hangs, const struct hang_part *part);

/* "rank 2", or "process 583". */
void hang_write_member(struct buffer *out, const struct hang_member *member);

/* "12.3 s". */
void hang_write_ns(struct buffer *out, int64_t ns);

#endif
