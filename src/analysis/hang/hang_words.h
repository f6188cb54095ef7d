/*
 * A hang in sentences: "ranks 0, 1 and 3 wait in AllReduce #412 (4 MiB) of communicator 0x7f…; rank 2 never entered it:
 * its kernel spin() has been running since 12.3 s".
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_WORDS_H
#define GPUTRACE_ANALYSIS_HANG_HANG_WORDS_H

#include "analysis/hang/hang.h"

struct buffer;

/* Writes the whole sentence. */
void hang_write_verdict(struct buffer *out, const struct hangs *hangs, const struct hang *hang);

/* "AllReduce #412 (4 MiB)"; sends and receives also name the ranks. */
void hang_write_operation(struct buffer *out, const struct hangs *hangs, const struct collective *own);

/* What the rank of RANK did at the end: "its process died at 12.3 s by signal 11 (Segmentation fault)". */
void hang_write_doing(struct buffer *out, const struct hangs *hangs, const struct hang_rank *rank);

/* The number that names a rank to people: its rank, else its pid. */
int64_t hang_number(const struct hangs *hangs, const struct hang_rank *rank);

/* "rank 2", or "process 583". */
void hang_write_member(struct buffer *out, const struct hang_member *member);

/* "12.3 s". */
void hang_write_ns(struct buffer *out, int64_t ns);

/* The hang that is a finding: it lasts, and does not follow from another one. Returns NULL if there is none. */
const struct hang *hang_worth_finding(const struct hangs *hangs);

/* Writes the sentence and the advice of the finding, each of FINDING_TEXT bytes. The advice is "" if that of the rule
 * fits. Returns 0, or -1: no memory. */
int hang_write_finding(char *text, char *advice, const struct hangs *hangs, const struct hang *hang);

#endif
