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
    pid_t pid;             /* of the program's process, which is yet to call exec */
    const char *directory; /* path of the run directory */
    uint64_t from, to;     /* ns of CLOCK_REALTIME: only events in between are recorded; TO is 0 for no end */
    const char *ranks;     /* list (common/settings.h) of the ranks whose processes are recorded; NULL: all */
    bool first_alone;      /* only process PID is recorded, not those that it starts */
};

/* Starts the recorder's thread and sets ABLE to what the kernel allows. Returns NULL if nothing can be recorded; then
 * REASON (PERF_REASON_BYTES) holds a message. */
struct cpu_recorder *cpu_recorder_start(const struct cpu_recording *recording, struct perf_able *able, char *reason);

struct cpu_figures {
    uint64_t samples, states;
    uint64_t processor; /* CPU time of the recorder's thread, ns */
};

/* Reads what the rings still hold, closes the files and frees RECORDER. */
struct cpu_figures cpu_recorder_stop(struct cpu_recorder *recorder);

/* --- reading the rings --- */

/* Waits at most MOST milliseconds for a ring to fill. Returns whether a ring has filled. */
bool perf_rings_wait(struct perf_rings *rings, int most);

/* Calls EACH for all records older than TIME (host's CLOCK_MONOTONIC, ns), ordered by time. The kernel may still write
 * records of the last millisecond. */
void perf_rings_read(struct perf_rings *rings, uint64_t time,
                     void (*each)(void *context, const struct perf_record *record), void *context);

#endif
