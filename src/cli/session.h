/* Writes and reads session.json in the spool directory: the launcher's note about a run, for the trace's metadata. */
#ifndef GPUTRACE_CLI_SESSION_H
#define GPUTRACE_CLI_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/settings.h"
#include "perf/rings.h"

struct session {
    char *const *command;            /* the program and its arguments; NULL at the end */
    const char *output;              /* path of the trace to be */
    const struct settings *settings; /* what is recorded */
    const struct perf_wanted *cpu;   /* likewise, of processors; NULL: nothing */
    const struct job_rank *rank;     /* of the program; NULL: it has none, or starts several */
    bool mpi;                        /* MPI calls are recorded */
    uint64_t delay, duration;        /* ns, as asked for; 0: not asked for */
};

/* Writes session.json into DIRECTORY. Returns 0, or -1 after error(). */
int session_write(const char *directory, const struct session *session);

/* The facts in a note; those that it lacks are empty. */
struct session_facts {
    char output[PATH_MAX]; /* absolute if possible */
    char command[256];     /* its words, cut where they are many */
};
void session_read(const char *directory, struct session_facts *facts);

#endif
