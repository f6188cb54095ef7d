/*
 * hazards: a plugin that finds uses of memory which nothing orders.
 *
 *     gputrace run --plugin hazards ./program
 *     gputrace run --plugin hazards,top=50,stacks=no ./program
 *
 * It follows streams, events and what the host waits for, and reports when a copy, a set, an access that the program
 * declares (gputrace_access() in gputrace.h) or a stream-ordered free touches memory that something else may still be
 * using: "race". It also reports "use after free", "use before allocation" (of stream-ordered memory, by another
 * stream) and "wait for nothing" (a stream waited for an event that in its whole life nobody recorded). Each pair of
 * places is reported once, with both call stacks, as lines at the end and as instants in the trace; that it happened
 * again is counted. A report is written down at once, so that it is there when the program is killed; in a program of
 * several threads after 50 ms, when no call of another thread can come to light that orders it (hazards_memory.c).
 *
 * WHAT A REPORT PROVES. By the rules of CUDA nothing makes one of the two wait for the other: no order within a stream,
 * no event, no wait of the host, no legacy default stream; they share at least one byte, and one of them writes it. It
 * does not prove that they ever ran at the same time. All threads are one host: what one of them waited for counts for
 * all. Where CUDA may synchronise without promising it (allocations and frees without a stream, copies from and to the
 * host, unloading of code), it is taken to do so. Of a wait for nothing, it proves that the wait waited for nothing.
 *
 * WHAT IT CANNOT SEE, and so does not report:
 *   - what kernels read and write, unless the program declares it, which it does just before the launch;
 *   - memory whose allocation was not seen: variables of modules, memory of other processes;
 *   - work behind functions of the host, waited values, graphs and events of other processes, until the host has waited
 *     for that stream: it may be ordered by what is not seen. The last line counts it. What is within graphs is not
 *     looked at, and after the first graph every record of an event counts as known to the host;
 *   - reads and writes by the host itself.
 * A program whose kernels order streams by way of memory (one writes a flag, another polls it), or whose host polls
 * memory that a copy writes, is ordered by something that nobody can see: it would be reported as a race, wrongly.
 * Kernels of NCCL and NVSHMEM that do so between devices are known; `barrier=TEXT` names more, by a part of their name.
 *
 * SETTINGS. top=N: how many hazards are printed (20). stacks=no: no call stacks; faster. barrier=TEXT: above.
 *
 * COST. A copy, set, allocation or free costs what its call stack costs, a microsecond or some, and 0.2 µs more, up to
 * 3 µs where hundreds of uses of the same memory are pending; a record, a wait or a synchronization 0.1 µs, with
 * hundreds of streams 1 µs. Launches cost nothing unless accesses are declared, there are several devices, or `barrier`
 * is given. Memory: some 100 bytes for each allocation, and 150 for each use of it that the host does not know to be
 * over, of which at most 256 are kept for one allocation.
 */
#include "hazards.h"

#include <errno.h>

static struct hazards hazards = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_end(void *data, const struct gputrace_process_end *what)
{
    (void)data, (void)what;
    hazards_finish_events(&hazards);
    pthread_mutex_lock(&hazards.lock);
    hazards_tell_held(&hazards, true);
    struct judged judged = {
        .operations = hazards.operations,
        .streams = hazards.order.streams_made,
        .unjudged = hazards.unjudged,
        .forgotten = hazards.memory.forgotten,
        .incomplete = hazards.memory.incomplete || hazards.order.broken,
    };
    if (judged.streams || !hazards.forked) /* children that do nothing with CUDA are many */
        reports_end(&hazards.reports, hazards.host, &judged);
    pthread_mutex_unlock(&hazards.lock);
}

/* A forked child has none of the parent's memory and streams. Where it came out of the middle of a callback of another
 * thread, what is there is left as it is, not freed. */
static void on_fork(void *data, const struct gputrace_process_fork *what)
{
    (void)data, (void)what;
    if (pthread_mutex_trylock(&hazards.lock) == 0) {
        order_release(&hazards.order);
        memory_release(&hazards.memory);
        free(hazards.declared);
        free(hazards.reports.list);
        pthread_mutex_unlock(&hazards.lock);
    } else {
        pthread_mutex_init(&hazards.lock, NULL);
    }
    memset(&hazards.order, 0, sizeof(hazards.order));
    memset(&hazards.memory, 0, sizeof(hazards.memory));
    hazards.reports = (struct reports){.top = hazards.reports.top, .start = gputrace_now(hazards.host)};
    hazards.declared = NULL;
    hazards.declared_count = hazards.declared_capacity = 0;
    hazards.operations = hazards.unjudged = 0;
    hazards.held_count = 0;
    hazards.device = hazards.thread = 0;
    hazards.forked = true;
    hazards.several_devices = hazards.several_threads = false;
}

/* False, after a line: the value of the setting is not valid. */
static bool read_settings(const struct gputrace_host *host)
{
    const char *top = gputrace_setting(host, "top"), *stacks = gputrace_setting(host, "stacks");
    char *end = NULL;
    hazards.reports.top = 20;
    hazards.barrier = gputrace_setting(host, "barrier");
    if (top) {
        errno = 0;
        unsigned long number = strtoul(top, &end, 10);
        if (*top < '0' || *top > '9' || *end || errno || number > REPORTS_MAX) {
            gputrace_line(host, 0, "'top' takes a number up to 1000");
            return false;
        }
        hazards.reports.top = (uint32_t)number;
    }
    if (stacks && strcmp(stacks, "no") != 0 && strcmp(stacks, "yes") != 0) {
        gputrace_line(host, 0, "'stacks' takes yes or no");
        return false;
    }
    if (hazards.barrier && !*hazards.barrier) {
        gputrace_line(host, 0, "'barrier' takes a part of the names of kernels");
        return false;
    }
    hazards.no_stacks = stacks && strcmp(stacks, "no") == 0;
    return true;
}

static int start(const struct gputrace_host *host)
{
    if (!read_settings(host))
        return -1;
    hazards.host = host;
    hazards.launches = false;
    hazards.reports.start = gputrace_now(host);
    bool done = hazards_hear_streams(&hazards) && hazards_hear_events(&hazards) && hazards_hear_sync(&hazards) &&
                hazards_hear_memory(&hazards) && hazards_hear_work(&hazards) &&
                gputrace_process_fork_register(host, on_fork, NULL) &&
                gputrace_process_end_register(host, on_end, NULL);
    if (!done) {
        gputrace_line(host, 0, "out of memory: hazards are not looked for");
        return -1;
    }
    if (hazards.barrier)
        hazards_want_launches(&hazards);
    return 0;
}

GPUTRACE_PLUGIN("hazards", start);
GPUTRACE_PLUGIN_SETTINGS("top,stacks,barrier");
