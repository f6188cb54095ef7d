/* Writes and reads session.json in the spool directory: the launcher's note about a run, for the trace's metadata. */
#ifndef GPUTRACE_CLI_SESSION_H
#define GPUTRACE_CLI_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/timex.h>

#include "common/settings.h"
#include "perf/rings.h"

struct session {
    char *const *command;            /* the program and its arguments; NULL at the end */
    const char *output;              /* path of the trace that will be written */
    const struct settings *settings; /* what is recorded */
    const struct perf_wanted *cpu;   /* what --cpu records, or NULL */
    const struct job_rank *rank;     /* rank of the program; NULL if it has none or starts several ranks */
    bool mpi;                        /* MPI calls are recorded */
    uint64_t delay, duration;        /* ns, of --delay and --duration; 0 if not given */
};

/* Writes session.json into DIRECTORY. Returns 0, or -1 after error(). */
int session_write(const char *directory, const struct session *session);

/* The facts of session.json that recovery needs; a missing one is "". */
struct session_facts {
    char output[PATH_MAX]; /* absolute if possible */
    char command[256];     /* the words of the command line, cut if they are too long */
};
/* Reads session.json in DIRECTORY. Facts stay empty if the file is missing or damaged. */
void session_read(const char *directory, struct session_facts *facts);

struct json_out;

/*
 * Writes what adjtimex(2) returned about the clock of this host as the member "clock" of the current object:
 * {"synchronised": true, "error_us": 2100, "estimated_error_us": 30, "frequency_ppm": -12.345}. Writes nothing if STATE
 * is negative. "synchronised": a daemon (NTP, PTP) synchronises the clock. In the trace of a rank this is the only fact
 * about its clock, besides operations with other hosts (analysis/job/job_clocks.h). Reports show it, but no times are
 * corrected by it, because NTP daemons differ in how honest their errors are.
 */
void session_put_clock(struct json_out *json, int state, const struct timex *clock);

#endif
