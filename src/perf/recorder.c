/*
 * The recorder's thread: it waits for the rings, passes each record to the file of its process, and lets the processes
 * tick and write at intervals.
 */
#include "perf/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/threads.h"
#include "perf/cpu_process.h"

/* A record may be written so long after the time that it says. */
#define SETTLED (2 * NS_PER_MS)

struct cpu_recorder {
    pthread_t thread;
    bool stop;
    struct perf_rings rings;
    struct cpu_processes processes;
    int64_t ahead; /* of our CLOCK_MONOTONIC: our time namespace */
    uint64_t processor;
};

static uint64_t host_time(const struct cpu_recorder *recorder)
{
    return clock_monotonic() - (uint64_t)recorder->ahead;
}

static void take(void *context, const struct perf_record *record)
{
    struct cpu_recorder *recorder = context;
    cpu_processes_tick(&recorder->processes, host_time(recorder)); /* many records may come at once */
    cpu_processes_take(&recorder->processes, record);
}

/* Waits until a ring fills, or is to be read in any case. */
static void wait_for_records(struct cpu_recorder *recorder)
{
    int most = recorder->rings.wait_ms;
    uint64_t until = host_time(recorder) + (uint64_t)most * NS_PER_MS, now;
    do {
        if (perf_rings_wait(&recorder->rings, cpu_processes_wait(&recorder->processes, most)))
            return;
        now = host_time(recorder);
        cpu_processes_tick(&recorder->processes, now);
    } while (now < until && !__atomic_load_n(&recorder->stop, __ATOMIC_ACQUIRE));
}

static void *run(void *context)
{
    struct cpu_recorder *recorder = context;
    prctl(PR_SET_NAME, "gputrace-cpu", 0, 0, 0);
    while (!__atomic_load_n(&recorder->stop, __ATOMIC_ACQUIRE)) {
        perf_rings_read(&recorder->rings, host_time(recorder) - SETTLED, take, recorder);
        cpu_processes_flush(&recorder->processes, false);
        wait_for_records(recorder);
    }
    perf_rings_read(&recorder->rings, UINT64_MAX, take, recorder);
    cpu_processes_finish(&recorder->processes, host_time(recorder));
    recorder->processor = clock_read(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void release(struct cpu_recorder *recorder)
{
    perf_rings_release(&recorder->rings);
    unwinder_free(recorder->processes.unwinder);
    if (recorder->processes.directory >= 0)
        close(recorder->processes.directory);
    free(recorder);
}

static int prepare(struct cpu_recorder *recorder, const struct cpu_recording *recording)
{
    struct cpu_processes *processes = &recorder->processes;
    recorder->ahead = time_namespace_offset();
    processes->clock_offset = (int64_t)(clock_now() - host_time(recorder));
    processes->from = recording->from;
    processes->to = recording->to;
    processes->first = recording->first_alone ? (uint32_t)recording->pid : 0;
    processes->ranks = recording->ranks;
    processes->directory = open(recording->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    processes->unwinder = unwinder_new(clock_now());
    return processes->directory >= 0 && processes->unwinder ? 0 : -1;
}

struct cpu_recorder *cpu_recorder_start(const struct cpu_recording *recording, struct perf_able *able, char *reason)
{
    struct cpu_recorder *recorder = calloc(1, sizeof(*recorder));
    snprintf(reason, PERF_REASON_BYTES, "out of memory");
    if (!recorder)
        return NULL;
    if (prepare(recorder, recording) == 0 &&
        perf_rings_open(&recorder->rings, recording->pid, &recording->wanted, reason) == 0) {
        *able = recorder->rings.able;
        if (threads_start(&recorder->thread, 1, run, recorder) == 1)
            return recorder;
        snprintf(reason, PERF_REASON_BYTES, "no thread can be started");
    }
    release(recorder);
    return NULL;
}

struct cpu_figures cpu_recorder_stop(struct cpu_recorder *recorder)
{
    __atomic_store_n(&recorder->stop, true, __ATOMIC_RELEASE);
    pthread_join(recorder->thread, NULL);
    struct cpu_figures figures = {
        .samples = recorder->processes.samples, .states = recorder->processes.states, .processor = recorder->processor};
    release(recorder);
    return figures;
}
