/*
 * `gputrace run --cpu`: CPU samples and context switches of the program, all its threads and all processes that it
 * starts. A thread reads the kernel's rings while the program runs and writes a file for each process (struct
 * cpu_file).
 */
#ifndef GPUTRACE_PERF_RECORDER_H
#define GPUTRACE_PERF_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf/rings.h"

struct cpu_recorder;

struct cpu_recording {
    struct perf_wanted wanted;
    pid_t pid;             /* the program's, before its exec */
    const char *directory; /* of the run */
    uint64_t from, to;     /* CLOCK_REALTIME, ns; only what is in between is recorded; TO 0: no end */
    const char *ranks;     /* a list (common/settings.h): other processes are not recorded; NULL: all are */
    bool first_alone;      /* other processes than PID are not recorded */
};

/* NULL: nothing is recorded, and REASON (PERF_REASON_BYTES) says why in words. ABLE says what there is of what was
 * wanted. */
struct cpu_recorder *cpu_recorder_start(const struct cpu_recording *recording, struct perf_able *able, char *reason);

struct cpu_figures {
    uint64_t samples, states;
    uint64_t processor; /* ns that it took of one */
};

/* Takes what the rings hold, and closes the files. */
struct cpu_figures cpu_recorder_stop(struct cpu_recorder *recorder);

/* --- reading the rings --- */

/* Waits until a ring fills, at most MOST milliseconds. Returns whether one did. */
bool perf_rings_wait(struct perf_rings *rings, int most);

/* Calls EACH for what was written before TIME, in order. Records of a TIME less than a millisecond ago may still
 * come. */
void perf_rings_read(struct perf_rings *rings, uint64_t time,
                     void (*each)(void *context, const struct perf_record *record), void *context);

#endif
