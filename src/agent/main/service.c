/*
 * The service thread: flushes CUPTI at intervals, reads names out of records that are being written, records the levels
 * of memory pools, and looks for libraries that were loaded meanwhile. At exit it waits, up to a limit, for GPU work
 * whose times CUPTI has not delivered.
 */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/calls_memory.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/kernel_names.h"
#include "agent/main/capture.h"
#include "agent/main/plugins.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/process.h"
#include "agent/spool/recorder.h"
#include "agent/spool/spool_place.h"
#include "agent/spool/writer.h"
#include "agent/torch/operators.h"
#include "common/clock.h"
#include "common/log.h"

/* How long the end of the process may be delayed for GPU work whose times CUPTI has not delivered. */
#define FINISH_WAIT_NS (500 * NS_PER_MS)
#define FINISH_STEP_US 1000
/* How often names are read out of CUPTI's records: the process can be killed at any time, and unread names are lost.
 * Soon after code was prepared, because a launch follows; then the interval doubles up to one that costs nothing
 * noticeable. */
#define NAMES_SOON_NS (100 * NS_PER_US)
#define NAMES_LATEST_NS (10 * NS_PER_MS)
#define DRIVER_DEVICES "/dev/nvidia"
/* How long the thread sleeps at most until recording is asked for. It looks whether the spool is still there then. */
#define SLEEP_NS NS_PER_S

static struct {
    uint64_t interval;
    pthread_mutex_t working; /* held during a round of the thread */
    bool stopped;
    uint64_t names_every; /* current interval of reading names, in ns */
    bool driver_seen;     /* the driver had descriptors of GPU devices */
    bool driver_ends;     /* CUPTI's switches must not change any more */
    bool runs;
    bool ending;       /* the process ends: the thread reads pools for the last time */
    sem_t asked_pools; /* posted when the thread has read the pools for the last time */
} service = {.working = PTHREAD_MUTEX_INITIALIZER};

void service_driver_started(void)
{
    __atomic_store_n(&service.driver_seen, descriptor_any_device(DRIVER_DEVICES), __ATOMIC_RELAXED);
}

static unsigned collect(void)
{
    /* Any part of the process can call cuptiFinalize(), which detaches CUPTI from its users without telling them. */
    if (callback_switches_lost()) {
        activity_buffers_detached();
        spool_file_header()->cuda_unrecorded = 1;
        recorder_warn("CUPTI was detached from the process: what it does with CUDA from then on is not recorded");
    }
    /* Stops using CUPTI when the program has closed all descriptors, the driver's too. The driver and CUPTI do not
     * notice that: when called, they write to descriptor numbers that may be the program's files by then. */
    if (__atomic_load_n(&service.driver_seen, __ATOMIC_RELAXED) && spool_file_was_closed() &&
        !descriptor_any_device(DRIVER_DEVICES)) {
        __atomic_store_n(&service.driver_seen, false, __ATOMIC_RELAXED);
        verbose("the program closed the driver's descriptors: CUPTI is asked no more");
        activity_buffers_gather(false);
        activity_buffers_detached();
        memory_pools_stop();
    }
    activity_buffers_flush();
    return activity_buffers_gather(false);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Whether CUPTI's switches may change: not once the driver is about to end. */
static bool may_switch(void)
{
    return !__atomic_load_n(&service.driver_ends, __ATOMIC_ACQUIRE);
}

/* Waits NS, or until something is asked. Meanwhile reads names and refills the budget for callbacks of first launches. */
static void gather_names(uint64_t ns)
{
    uint64_t begun = clock_monotonic();
    for (uint64_t passed = 0; passed < ns && !__atomic_load_n(&service.ending, __ATOMIC_ACQUIRE) && !capture_is_asked();
         passed = clock_monotonic() - begun) {
        bool due = name_capture_wait(least(service.names_every, ns - passed));
        pthread_mutex_lock(&service.working);
        if (!service.stopped)
            activity_buffers_gather_names();
        if (!service.stopped && may_switch())
            first_launches_renew(clock_monotonic());
        pthread_mutex_unlock(&service.working);
        service.names_every = due ? NAMES_SOON_NS : least(2 * service.names_every, NAMES_LATEST_NS);
    }
}

static void *serve(void *unused)
{
    (void)unused;
    thread_become_ours("gputrace", spool_file_header());
    for (;;) {
        uint64_t until_due = least(capture_follow_clock(), capture_follow_requests());
        if (!capture_sleep(least(until_due, SLEEP_NS), &service.ending))
            gather_names(least(until_due, service.interval));
        pthread_mutex_lock(&service.working);
        bool stopped = service.stopped;
        if (!stopped) {
            /* If the launcher ended after making the trace, or the spool was removed, further records would fill the
             * disk with data that is never read. */
            if (chunks_end_if_removed()) {
                capture_end();
                verbose("the spool of process %d was removed: it is recorded no longer", (int)getpid());
            }
            process_facts_watch_clock(spool_file_header());
            unsigned untimed = collect();
            if (may_switch())
                capture_settle(untimed);
            plugins_record_times();
        }
        pthread_mutex_unlock(&service.working);
        bool last = __atomic_load_n(&service.ending, __ATOMIC_ACQUIRE);
        if (!stopped)
            memory_pools_ask(last); /* without `working`: a driver call that blocks must not delay collecting */
        if (!stopped && last)
            sem_post(&service.asked_pools);
        if (stopped || last)
            thread_park();
        operators_find();
        if (thread_alone()) {
            chunk_pool_end();
            thread_end();
            return NULL;
        }
    }
}

int service_start(uint64_t flush_interval_ns)
{
    service.interval = flush_interval_ns;
    service.stopped = service.ending = service.driver_seen = service.driver_ends = false;
    sem_init(&service.asked_pools, 0, 0);
    service.names_every = NAMES_LATEST_NS;
    pthread_mutex_init(&service.working, NULL);
    int failed = thread_start(serve, NULL);
    service.runs = failed == 0;
    return failed;
}

/* Waits at most a second for the current round, and takes its lock: a round that hangs in the driver must not hang the
 * program's end. Returns false if the round did not end. */
static bool wait_for_round(void)
{
    uint64_t began = clock_monotonic();
    while (pthread_mutex_trylock(&service.working) != 0) {
        if (clock_monotonic() - began > NS_PER_S)
            return false;
        usleep(FINISH_STEP_US);
    }
    return true;
}

/* If the current round hangs in the driver, at least later rounds do not change CUPTI's switches. */
void service_driver_ends(void)
{
    __atomic_store_n(&service.driver_ends, true, __ATOMIC_RELEASE);
    if (wait_for_round())
        pthread_mutex_unlock(&service.working);
}

void service_finish(void)
{
    if (service.runs && memory_pools_any()) {
        /* The thread reads the pools for the last time. */
        uint64_t end = clock_monotonic() + FINISH_WAIT_NS;
        __atomic_store_n(&service.ending, true, __ATOMIC_RELEASE);
        name_capture_request(); /* wakes the thread */
        capture_wake();
        while (sem_trywait(&service.asked_pools) != 0 && clock_monotonic() < end)
            nanosleep(&(struct timespec){.tv_nsec = NS_PER_S / 1000}, NULL);
    }
    memory_pools_stop();
    if (!wait_for_round())
        return;
    service.stopped = true;
    pthread_mutex_unlock(&service.working);
    process_facts_watch_clock(spool_file_header());
    uint64_t began = clock_monotonic();
    while (collect() > 0 && clock_monotonic() - began < FINISH_WAIT_NS)
        usleep(FINISH_STEP_US);
}
