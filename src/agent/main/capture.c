/*
 * Turns recording on and off: from the start, between cudaProfilerStart and cudaProfilerStop, in an NVTX range, in an
 * interval of time, or as plugins, the program and `gputrace start` ask. Switches CUPTI and the recorder at each change,
 * and records why the trace is empty if the requested range never came.
 */
#include "agent/main/capture.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/graphs.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/stacks.h"
#include "agent/spool/recorder.h"
#include "agent/spool/spool_file.h"
#include "common/clock.h"
#include "common/map.h"
#include "common/settings.h"

enum range_kind { RANGE_NONE, RANGE_API, RANGE_PROFILER, RANGE_NVTX };

#define SETTLE_NS (5 * NS_PER_S) /* a kernel that runs longer than this after the end of capture is left out */

static struct capture {
    const struct settings *settings;
    enum range_kind range;
    struct gputrace_text name, domain; /* for RANGE_NVTX; domain.bytes NULL: any domain */
    pthread_mutex_t lock;
    unsigned open;    /* number of open ranges, or 1 while the program asks for recording */
    bool in_interval; /* the time is within the interval */
    bool over;        /* recording is off for good */
    bool on;          /* recording is on now */
    bool recorded;    /* the spool says whether recording is on */
    bool begun;       /* recording has been on before */
    bool refused;     /* the program started recording outside of the time interval, and the spool says so */
    bool cupti_ready;
    bool cupti_on; /* CUPTI's kinds are enabled */
    uint64_t off_since;
    uint32_t request;  /* the last request that was taken */
    uint64_t from, to; /* what it asked: when to start and to stop, SPOOL_NEVER: not (any more) */
} capture = {.lock = PTHREAD_MUTEX_INITIALIZER, .from = SPOOL_NEVER, .to = SPOOL_NEVER};

/* Enables or disables CUPTI's kinds, which takes some time: records that CUPTI writes meanwhile are kept. The caller
 * holds the lock. */
static void switch_cupti(bool on)
{
    if (on) {
        activity_buffers_keep(true);
        graph_launches_suspend(false);
    }
    activity_kinds_switch((uint64_t)capture.settings->trace, capture.settings->graph_nodes, on);
    first_launches_suspend(!on);
    if (!on) {
        activity_buffers_keep(false);
        graph_launches_suspend(true);
    }
    capture.cupti_on = on;
}

/* Turns recording on or off, as of TIME, if the settings and open ranges say so. The caller holds the lock. */
static void apply(uint64_t time, const char *reason)
{
    bool wanted = capture.in_interval && capture.open > 0 && !capture.over;
    if (wanted && capture.cupti_ready && !capture.cupti_on)
        switch_cupti(true);
    if (wanted == capture.on && capture.recorded)
        return;
    capture.recorded = true;
    capture.on = wanted;
    if (wanted)
        __atomic_store_n(&capture.begun, true, __ATOMIC_RELAXED);
    capture.off_since = clock_monotonic();
    recorder_switch(wanted, time, reason);
    call_stacks_switch(wanted);
}

/* Values of CHANGE: 1 opens one more range and -1 closes one; OPEN_ONE and OPEN_NONE set the number of open ranges. */
enum { OPEN_NONE = 0, OPEN_ONE = 2 };
static void change_open(int change, uint64_t time, const char *reason)
{
    if (fork_unannounced())
        return;
    pthread_mutex_lock(&capture.lock);
    if (change == OPEN_ONE || change == OPEN_NONE)
        capture.open = change == OPEN_ONE;
    else if (change > 0 || capture.open > 0)
        capture.open = (unsigned)((int)capture.open + change);
    apply(time, reason);
    /* Records that the program started the requested range outside of the time interval. */
    if (capture.open > 0 && !capture.in_interval && !capture.begun && !capture.refused) {
        capture.refused = true;
        recorder_note_unrecorded(SPOOL_SEEN_START, (struct gputrace_text){0});
    }
    pthread_mutex_unlock(&capture.lock);
}

/* --- cudaProfilerStart and Stop --- */

static void profiler_asked(void *data, const struct gputrace_profiler *event)
{
    (void)data;
    change_open(event->start ? OPEN_ONE : OPEN_NONE, event->start ? event->call.end : event->call.start,
                event->start ? "cudaProfilerStart" : "cudaProfilerStop");
}

/* --- an NVTX range --- */

/* Pushes of this thread in DOMAIN since the range that switched recording on, and that domain. */
static __thread struct {
    unsigned depth;
    uint32_t domain;
} pushed;

#define STARTED_MAX 64 /* maximum of start/end ranges with the requested name that can be open at once */
static uint64_t started[STARTED_MAX];

/* Numbers of the domains that have the requested name: NVTX may report the name only once, before the first range. */
#define DOMAINS_MAX 16
static uint32_t matching_domains[DOMAINS_MAX];
static unsigned matching_domain_count;

static void domain_named(void *data, const struct gputrace_nvtx_name *event)
{
    (void)data;
    if (event->named != NVTX_NAMED_DOMAIN || !capture.domain.bytes || !text_same(event->text, capture.domain))
        return;
    if (matching_domain_count < DOMAINS_MAX)
        matching_domains[matching_domain_count++] = event->domain;
}

static bool range_matches(const struct gputrace_nvtx *event)
{
    bool matches = !capture.domain.bytes;
    if (event->message.length != capture.name.length)
        return false;
    for (unsigned i = 0; i < matching_domain_count && !matches; i++)
        matches = matching_domains[i] == event->domain;
    return matches && text_same(event->message, capture.name);
}

static bool note_started(uint64_t range, uint64_t instead_of)
{
    for (unsigned i = 0; i < STARTED_MAX; i++) {
        uint64_t expected = instead_of;
        if (__atomic_compare_exchange_n(&started[i], &expected, range, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* Hashes of the first range names that differ from the requested one. The names are shown to a user who may have
 * mistyped a name. Not used once recording has begun. */
#define SEEN_MAX 8
#define SEEN_TEXT_MAX 64
static uint64_t seen[SEEN_MAX];

/* Returns how many bytes of TEXT to keep: at most SEEN_TEXT_MAX, and only whole characters. */
static int cut(struct gputrace_text text)
{
    uint32_t length = text.length < SEEN_TEXT_MAX ? text.length : SEEN_TEXT_MAX;
    while (length > 0 && length < text.length && (text.bytes[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

/* Adds HASH to the set. Returns false if HASH is there already or the set is full. */
static bool is_first(uint64_t hash)
{
    for (unsigned i = 0; i < SEEN_MAX; i++) {
        uint64_t known = __atomic_load_n(&seen[i], __ATOMIC_RELAXED);
        if (known == 0 &&
            __atomic_compare_exchange_n(&seen[i], &known, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
        if (known == hash)
            return false;
    }
    return false;
}

/* Records the name of a range other than the requested one, with its domain if the user named a domain. */
static void note_other_range(const struct gputrace_nvtx *event)
{
    char text[2 * SEEN_TEXT_MAX + 2];
    if (__atomic_load_n(&capture.begun, __ATOMIC_RELAXED) || __atomic_load_n(&seen[SEEN_MAX - 1], __ATOMIC_RELAXED) ||
        event->message.length == 0)
        return;
    bool with_domain = capture.domain.bytes && event->domain_name.length > 0;
    int length =
        snprintf(text, sizeof(text), "%.*s%s%.*s", cut(event->message), event->message.bytes, with_domain ? "@" : "",
                 with_domain ? cut(event->domain_name) : 0, with_domain ? event->domain_name.bytes : "");
    if (length > 0 && is_first(hash_bytes(text, (size_t)length) | 1))
        recorder_note_unrecorded(SPOOL_SEEN_RANGE, text_of_bytes(text, (size_t)length));
}

/* Runs before the recorder, so that the range that switches recording on is recorded. */
static void range_pushed(void *data, const struct gputrace_nvtx *event)
{
    (void)data;
    if (pushed.depth > 0) {
        pushed.depth += event->domain == pushed.domain;
    } else if (range_matches(event)) {
        pushed.depth = 1;
        pushed.domain = event->domain;
        change_open(1, event->call.end, "NVTX range");
    } else {
        note_other_range(event);
    }
}

static void range_started(void *data, const struct gputrace_nvtx *event)
{
    (void)data;
    if (!range_matches(event))
        note_other_range(event);
    else if (note_started(event->range, 0))
        change_open(1, event->call.end, "NVTX range");
}

/* Runs after the recorder, so that the end of the range is recorded. */
static void range_popped(void *data, const struct gputrace_nvtx *event)
{
    (void)data;
    if (pushed.depth > 0 && event->domain == pushed.domain && --pushed.depth == 0)
        change_open(-1, event->call.end, "end of NVTX range");
}

static void range_ended(void *data, const struct gputrace_nvtx *event)
{
    (void)data;
    if (event->range && note_started(0, event->range))
        change_open(-1, event->call.end, "end of NVTX range");
}

/* --- settings, clock, CUPTI --- */

static enum range_kind parse_range(const char *text)
{
    if (!text || strcmp(text, "none") == 0)
        return RANGE_NONE;
    if (strcmp(text, "api") == 0)
        return RANGE_API;
    if (strcmp(text, "cudaProfilerApi") == 0)
        return RANGE_PROFILER;
    if (strncmp(text, "nvtx:", 5) != 0)
        return RANGE_NONE;
    const char *name = text + 5, *at = strrchr(name, '@');
    capture.name = (struct gputrace_text){name, (uint32_t)(at ? (size_t)(at - name) : strlen(name))};
    if (at)
        capture.domain = (struct gputrace_text){at + 1, (uint32_t)strlen(at + 1)};
    return RANGE_NVTX;
}

int capture_init(const struct settings *settings)
{
    capture.settings = settings;
    capture.range = parse_range(settings->capture_range);
    capture.open = capture.range == RANGE_NONE;
    int failed = 0;
    if (capture.range == RANGE_PROFILER)
        failed |= registry_profiler_register(profiler_asked, NULL);
    if (capture.range == RANGE_NVTX)
        failed |= registry_nvtx_name_register(domain_named, NULL) | registry_nvtx_push_register(range_pushed, NULL) |
                  registry_nvtx_start_register(range_started, NULL);
    return failed;
}

int capture_init_last(void)
{
    int failed = 0;
    if (capture.range == RANGE_NVTX)
        failed |= registry_nvtx_pop_register(range_popped, NULL) | registry_nvtx_end_register(range_ended, NULL);
    capture_follow_clock();
    return failed;
}

bool capture_hears_nvtx(void)
{
    return capture.range == RANGE_NVTX;
}

void capture_end(void)
{
    pthread_mutex_lock(&capture.lock);
    capture.over = true;
    apply(clock_now(), "the spool was removed");
    pthread_mutex_unlock(&capture.lock);
}

void capture_atfork_child(void)
{
    pthread_mutex_init(&capture.lock, NULL);
    capture.over = capture.on = capture.recorded = capture.begun = capture.refused = capture.cupti_ready =
        capture.cupti_on = false;
    capture.request = 0;
    capture.from = capture.to = SPOOL_NEVER;
    memset(seen, 0, sizeof(seen));
}

void capture_ask(bool on)
{
    change_open(on ? OPEN_ONE : OPEN_NONE, clock_now(), on ? "gputrace_start" : "gputrace_stop");
    if (on && !fork_unannounced())
        capture_wake();
}

/* --- requests from outside --- */

static void futex(uint32_t *word, int operation, uint32_t value, const struct timespec *limit)
{
    syscall(SYS_futex, word, operation, value, limit, NULL, 0);
}

bool capture_is_asked(void)
{
    return __atomic_load_n(&spool_control(spool_file_header())->asked, __ATOMIC_ACQUIRE) != capture.request;
}

uint64_t capture_follow_requests(void)
{
    struct spool_control *control = spool_control(spool_file_header());
    bool asked = capture_is_asked();
    if (asked) {
        capture.request = __atomic_load_n(&control->asked, __ATOMIC_ACQUIRE);
        capture.from = control->record_from;
        capture.to = control->record_to ? control->record_to : SPOOL_NEVER;
        if (capture.from == SPOOL_NEVER)
            capture.to = 0;
    }
    uint64_t now = clock_now();
    if (capture.from <= now) {
        capture.from = SPOOL_NEVER;
        change_open(OPEN_ONE, now, "gputrace start");
    }
    if (capture.to <= now) {
        capture.to = SPOOL_NEVER;
        change_open(OPEN_NONE, now, "gputrace stop");
    }
    if (asked) {
        __atomic_store_n(&control->answered, capture.request, __ATOMIC_RELEASE);
        futex(&control->answered, FUTEX_WAKE, INT_MAX, NULL);
    }
    uint64_t next = capture.from < capture.to ? capture.from : capture.to;
    return next == SPOOL_NEVER ? SPOOL_NEVER : next > now ? next - now : 0;
}

bool capture_sleep(uint64_t ns, const bool *unless)
{
    uint32_t *woken = &spool_control(spool_file_header())->woken, before = __atomic_load_n(woken, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&capture.lock);
    bool idle = capture.range == RANGE_API && !capture.on && !capture.cupti_on;
    pthread_mutex_unlock(&capture.lock);
    if (!idle || capture_is_asked() || __atomic_load_n(unless, __ATOMIC_ACQUIRE))
        return false;
    struct timespec limit = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    futex(woken, FUTEX_WAIT, before, &limit);
    return true;
}

void capture_wake(void)
{
    uint32_t *woken = &spool_control(spool_file_header())->woken;
    __atomic_add_fetch(woken, 1, __ATOMIC_RELEASE);
    futex(woken, FUTEX_WAKE, INT_MAX, NULL);
}

uint64_t capture_follow_clock(void)
{
    uint64_t start = (uint64_t)capture.settings->start_at, stop = (uint64_t)capture.settings->stop_at;
    int64_t offset = capture.settings->clock_offset;
    uint64_t now = clock_now();
    if (offset) /* CLOCK_REALTIME as if it had not been set since the launcher chose the interval */
        now = clock_monotonic() - (uint64_t)spool_file_header()->monotonic_ahead + (uint64_t)offset;
    pthread_mutex_lock(&capture.lock);
    capture.in_interval = now >= start && (stop == 0 || now < stop);
    apply(clock_now(), now < start ? "--delay" : capture.in_interval ? "start" : "--duration");
    pthread_mutex_unlock(&capture.lock);
    if (now < start)
        return start - now;
    return stop > now ? stop - now : UINT64_MAX;
}

void capture_cupti_ready(void)
{
    pthread_mutex_lock(&capture.lock);
    capture.cupti_ready = true;
    first_launches_suspend(true);
    graph_launches_suspend(true);
    apply(clock_now(), "start");
    pthread_mutex_unlock(&capture.lock);
}

void capture_python_found(void)
{
    pthread_mutex_lock(&capture.lock);
    call_stacks_add_python();
    if (capture.on)
        call_stacks_switch(true);
    pthread_mutex_unlock(&capture.lock);
}

void capture_settle(unsigned untimed)
{
    pthread_mutex_lock(&capture.lock);
    bool settled = untimed == 0 || clock_monotonic() - capture.off_since > SETTLE_NS;
    if (!capture.on && capture.cupti_on && settled)
        switch_cupti(false);
    pthread_mutex_unlock(&capture.lock);
}
