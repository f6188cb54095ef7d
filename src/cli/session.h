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

/* --- the system's clock --- */

/*
 * What the system says of its clock: whether something (NTP, PTP) sets it by another one, and how wrong it may be. In
 * the trace of a rank this is the only statement about its clock besides the operations that it did with other hosts
 * (analysis/job/job_clocks.h). It is shown, and times are never changed by it: NTP daemons differ in how honest their
 * errors are.
 */

struct json_out;

struct host_clock {
    bool known;
    bool synchronised;
    int64_t error_us, estimated_error_us; /* at most, and as a rule, as the daemon or the kernel has it */
    double frequency_ppm;                 /* by which the kernel corrects the clock */
};

/* Makes the statement of what adjtimex(2) returned: STATE and STATUS. */
struct host_clock host_clock_of(int state, const struct timex *status);

/* Asks the system now. Changes nothing, and needs no privileges. */
struct host_clock host_clock_read(void);

/* {"synchronised": true, "error_us": 2100, …}, as a member of the object at hand; nothing if it is not known. */
void host_clock_put(const struct host_clock *clock, struct json_out *json);

#endif
