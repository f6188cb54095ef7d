/*
 * leaks: a plugin that reports what memory was still allocated when the process ended, by the call stacks that had
 * asked for it.
 *
 *     gputrace run --plugin leaks ./program
 *     gputrace run --plugin leaks,least=1M,top=50 ./program
 *
 * Allocations of the same kind, on the same device, from the same stack are one line, those with the most bytes first;
 * then come the stacks, and a line with the sum of each kind. All kinds are followed: device, pinned, managed,
 * registered, arrays, stream-ordered, and physical memory of cuMemCreate, which is allocated until it was released and
 * unmapped.
 *
 *     9.00 MiB (9437184 bytes) of device memory in 3 allocations on device 0, first after 12.4 ms, by thread 4711
 *     in all 9.00 MiB (9441280 bytes) in 4 allocations: device 9.00 MiB in 3, pinned 4.00 KiB in 1
 *
 * SETTINGS. least=BYTES leaves out lines of less (K, M, G may follow the number); top=N prints N lines (20); stacks=no
 * prints no stacks, and one line for each kind and device; faster. Lines that are left out are added up.
 *
 * WHAT IT CANNOT SEE. The process ends before destructors of static objects that are older than CUDA: what these free
 * is reported as allocated. Memory of graphs, of modules and of other processes is not followed, nor what CUDA takes
 * for itself. What goes with a context that is destroyed is not a leak; one line reports it. A process that is killed
 * prints nothing.
 *
 * COST. The call stack of each allocation, some microseconds, and about 100 bytes for what is allocated at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "leaks.h"

static struct {
    const struct gputrace_host *host;
    pthread_mutex_t lock; /* of what follows; no stack is taken under it: that may wait for who loads a library */
    struct live live;
    struct telling telling;
    bool no_stacks, forked;
} leaks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- listening --- */

static void on_allocation(void *data, const struct gputrace_memory_allocation *what)
{
    (void)data;
    uint32_t stack = leaks.no_stacks ? 0 : gputrace_stack(leaks.host, 0);
    if (what->call.result != 0)
        return;
    pthread_mutex_lock(&leaks.lock);
    live_add(&leaks.live, what, stack);
    pthread_mutex_unlock(&leaks.lock);
}

static void on_deallocation(void *data, const struct gputrace_memory_deallocation *what)
{
    (void)data;
    if (what->call.result != 0)
        return;
    pthread_mutex_lock(&leaks.lock);
    live_remove(&leaks.live, what);
    pthread_mutex_unlock(&leaks.lock);
}

static void on_mapping(void *data, const struct gputrace_memory_mapping *what)
{
    (void)data;
    if (what->call.result != 0)
        return;
    pthread_mutex_lock(&leaks.lock);
    live_map(&leaks.live, what);
    pthread_mutex_unlock(&leaks.lock);
}

static void on_unmapping(void *data, const struct gputrace_memory_unmapping *what)
{
    (void)data;
    if (what->call.result != 0)
        return;
    pthread_mutex_lock(&leaks.lock);
    live_unmap(&leaks.live, what);
    pthread_mutex_unlock(&leaks.lock);
}

static void on_context_deletion(void *data, const struct gputrace_context_deletion *what)
{
    (void)data;
    char line[160], size[LEAKS_SIZE_TEXT];
    pthread_mutex_lock(&leaks.lock);
    struct gone gone = live_context_deleted(&leaks.live, what->call.context);
    pthread_mutex_unlock(&leaks.lock);
    if (!gone.count)
        return;
    leaks_write_size(size, gone.bytes, true);
    snprintf(line, sizeof(line), "no leak: %s in %" PRIu64 " allocation%s went with context %u", size, gone.count,
             gone.count == 1 ? "" : "s", what->call.context_id);
    gputrace_line(leaks.host, 0, line);
}

/* What is allocated is the parent's. Where another thread was changing it, it is left as it is. */
static void on_fork(void *data, const struct gputrace_process_fork *what)
{
    (void)data, (void)what;
    if (pthread_mutex_trylock(&leaks.lock) == 0) {
        live_release(&leaks.live);
        pthread_mutex_unlock(&leaks.lock);
    } else {
        pthread_mutex_init(&leaks.lock, NULL);
    }
    memset(&leaks.live, 0, sizeof(leaks.live));
    leaks.forked = true;
    leaks.telling.start = gputrace_now(leaks.host);
}

static void on_end(void *data, const struct gputrace_process_end *what)
{
    (void)data, (void)what;
    pthread_mutex_lock(&leaks.lock);
    if (leaks.live.allocations || leaks.live.unknown_frees ||
        !leaks.forked) /* children that do nothing with CUDA are many */
        leaks_report(leaks.host, &leaks.live, &leaks.telling);
    pthread_mutex_unlock(&leaks.lock);
}

/* --- being a plugin --- */

/* "64K": false when it is not a size. */
static bool read_number(const char *key, uint64_t *number)
{
    static const char units[] = "KMG";
    const char *text = gputrace_setting(leaks.host, key);
    char *end = NULL;
    if (!text)
        return true;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    char line[160];
    if (*text >= '0' && *text <= '9' && !errno && !(unit ? end[1] : *end) && value << shift >> shift == value) {
        *number = value << shift;
        return true;
    }
    snprintf(line, sizeof(line), "'%s' takes a number, as in %s=20 or %s=64K", key, key, key);
    gputrace_line(leaks.host, 0, line);
    return false;
}

static int start(const struct gputrace_host *host)
{
    const char *stacks = gputrace_setting(host, "stacks");
    leaks.host = host;
    leaks.telling.start = gputrace_now(host);
    leaks.telling.least = 0;
    leaks.telling.top = 20;
    leaks.no_stacks = stacks && strcmp(stacks, "no") == 0;
    if (!read_number("least", &leaks.telling.least) || !read_number("top", &leaks.telling.top))
        return -1;
    if (stacks && !leaks.no_stacks && strcmp(stacks, "yes") != 0) {
        gputrace_line(host, 0, "'stacks' takes yes or no");
        return -1;
    }
    bool done = gputrace_memory_allocation_register(host, on_allocation, NULL) &&
                gputrace_memory_deallocation_register(host, on_deallocation, NULL) &&
                gputrace_memory_mapping_register(host, on_mapping, NULL) &&
                gputrace_memory_unmapping_register(host, on_unmapping, NULL) &&
                gputrace_context_deletion_register(host, on_context_deletion, NULL) &&
                gputrace_process_fork_register(host, on_fork, NULL) &&
                gputrace_process_end_register(host, on_end, NULL);
    if (!done)
        gputrace_line(host, 0, "out of memory: leaks are not looked for");
    return done ? 0 : -1;
}

GPUTRACE_PLUGIN("leaks", start);
GPUTRACE_PLUGIN_SETTINGS("least,top,stacks");
