/*
 * What the system says of its clock: whether something (NTP, PTP) sets it by another one, and how wrong it may be. In
 * the trace of a rank this is the only statement about its clock besides the operations that it did with other hosts
 * (analysis/job/job_clocks.h). It is shown, and times are never changed by it: NTP daemons differ in how honest their
 * errors are.
 */
#ifndef GPUTRACE_LAUNCH_HOST_CLOCK_H
#define GPUTRACE_LAUNCH_HOST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/timex.h>

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
