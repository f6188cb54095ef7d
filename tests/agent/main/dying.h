/* A child that is watched as a traced program is, and how it dies. */
#ifndef GPUTRACE_TESTS_AGENT_MAIN_DYING_H
#define GPUTRACE_TESTS_AGENT_MAIN_DYING_H

#include <sys/types.h>

#include "common/spool_records.h"

/* Of a test: its spool directory is made and removed. */
int dying_begin(void **state);
int dying_end(void **state);

const char *dying_directory(void);

/* A child that records and is watched after PREPARE (NULL: nothing) dies by WAY, else exits with 0. Returns what
 * waitpid() does. */
int dies(void (*prepare)(void), void (*way)(void));
/* That child. */
pid_t dying_child(void);
/* What its spool tells of its death; NULL: nothing. */
const struct spool_crash *crash_recorded(void);

void assert_signal(int status, int number);

#endif
