#include "injected/entry/service.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "injected/collect/cupti_activity.h"
#include "injected/entry/capture.h"
#include "injected/plugin/plugin.h"
#include "injected/record/thread.h"

/* How long a process that ends may be held up for GPU work whose times are still on their way. */
#define FINISH_WAIT_NS (500 * NS_PER_MS)
#define FINISH_STEP_NS (1 * NS_PER_MS)

static struct {
    uint64_t interval;
    pthread_mutex_t working; /* held while a round is going on */
    bool stopped;
} service = {.working = PTHREAD_MUTEX_INITIALIZER};

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    nanosleep(&time, NULL);
}

static unsigned collect(void)
{
    cupti_activity_flush();
    return cupti_activity_gather();
}

static void *serve(void *unused)
{
    (void)unused;
    thread_become_ours("gputrace");
    for (;;) {
        uint64_t now = clock_now(), due = capture_follow_clock(now);
        uint64_t until_due = due > now ? due - now : 0;
        sleep_ns(until_due < service.interval ? until_due : service.interval);
        pthread_mutex_lock(&service.working);
        bool stopped = service.stopped;
        if (!stopped) {
            capture_settle(collect());
            plugins_tell_time();
        }
        pthread_mutex_unlock(&service.working);
        if (stopped)
            return NULL;
    }
}

int service_start(uint64_t flush_interval_ns)
{
    service.interval = flush_interval_ns;
    service.stopped = false;
    pthread_mutex_init(&service.working, NULL);
    return thread_start(serve, NULL);
}

void service_finish(void)
{
    struct timespec limit = {.tv_sec = time(NULL) + 1};
    if (pthread_mutex_timedlock(&service.working, &limit) != 0)
        return; /* a round that hangs in the driver must not hang the program's end */
    service.stopped = true;
    pthread_mutex_unlock(&service.working);
    uint64_t began = clock_monotonic();
    while (collect() > 0 && clock_monotonic() - began < FINISH_WAIT_NS)
        sleep_ns(FINISH_STEP_NS);
}
