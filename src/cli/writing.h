/*
 * What becomes of a trace that is being written when somebody asks us to end: nothing of it stays, what was recorded
 * does, and the last line says where.
 */
#ifndef GPUTRACE_CLI_WRITING_H
#define GPUTRACE_CLI_WRITING_H

struct signals;

/* From here on a signal that asks us to end does so. DIRECTORY holds what was recorded. */
void writing_ends_with(const struct signals *signals, const char *directory);

#endif
