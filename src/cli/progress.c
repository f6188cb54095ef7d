#include "cli/progress.h"

#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/threads.h"
#include "cli/terminal_line.h"

#define QUIET_NS NS_PER_S /* what is done by then needs no line */
#define EVERY_NS (250 * NS_PER_MS)

static void show(const struct progress *progress)
{
    uint64_t total = __atomic_load_n(&progress->made.total, __ATOMIC_RELAXED);
    uint64_t done = __atomic_load_n(&progress->made.done, __ATOMIC_RELAXED);
    struct buffer text;
    buffer_init_memory(&text);
    buffer_format(&text, "writing '%s'", progress->output);
    if (total > 0)
        buffer_format(&text, ": %.0f %%", 100 * (double)done / (double)total);
    buffer_format(&text, ", %llu s", (unsigned long long)((clock_monotonic() - progress->begun) / NS_PER_S));
    if (buffer_finish(&text) == 0)
        terminal_line_show(&text);
    buffer_release(&text);
}

/* Returns whether the writing has ended by TIME (CLOCK_MONOTONIC). Under the lock. */
static bool ended_by(struct progress *progress, uint64_t time)
{
    struct timespec until = {.tv_sec = (time_t)(time / NS_PER_S), .tv_nsec = (long)(time % NS_PER_S)};
    while (!progress->ended && pthread_cond_clockwait(&progress->wake, &progress->lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
    return progress->ended;
}

static void *watch(void *context)
{
    struct progress *progress = context;
    bool shown = false;
    pthread_mutex_lock(&progress->lock);
    for (uint64_t time = progress->begun + QUIET_NS; !ended_by(progress, time); time += EVERY_NS) {
        show(progress);
        shown = true;
    }
    pthread_mutex_unlock(&progress->lock);
    if (shown)
        terminal_line_clear();
    return NULL;
}

void progress_begin(struct progress *progress, const char *output)
{
    *progress = (struct progress){.output = output,
                                  .begun = clock_monotonic(),
                                  .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .wake = PTHREAD_COND_INITIALIZER};
    progress->runs = log_level() > LOG_QUIET && terminal_line_possible() &&
                     threads_start(&progress->thread, 1, watch, progress) == 1;
}

void progress_end(struct progress *progress)
{
    if (!progress->runs)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->ended = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    progress->runs = false;
}
