/* Sorts samples and states by thread and time, and estimates the sampling period from the times between samples. */
#include "analysis/engine/host_samples.h"

#include "common/memory.h"

/* The number of records after which pages are given back to the kernel. */
#define EVICT_AFTER (1 << 20)

struct unsorted_sample {
    int64_t time;
    uint32_t thread, site;
};

struct unsorted_state {
    struct host_state state;
    uint32_t thread;
};

ORDER_BY(by_thread_and_time, struct unsorted_sample, thread, time, site)

ORDER_BY(by_thread_and_start, struct unsorted_state, thread, state.start, state.end, state.site)

void host_samples_init(struct host_samples *samples, struct sorter_space *space)
{
    *samples = (struct host_samples){0};
    samples->samples.memory.directory = samples->states.memory.directory = temporary_directory();
    sorter_init(&samples->unsorted_samples, space, sizeof(struct unsorted_sample), by_thread_and_time);
    sorter_init(&samples->unsorted_states, space, sizeof(struct unsorted_state), by_thread_and_start);
}

void host_samples_release(struct host_samples *samples)
{
    sorter_release(&samples->unsorted_samples);
    sorter_release(&samples->unsorted_states);
    dense_map_release(&samples->sites);
    file_vector_release(&samples->samples);
    file_vector_release(&samples->states);
    array_release(&samples->threads);
}

int host_samples_add(struct host_samples *samples, uint32_t thread, int64_t time, const struct host_site *site)
{
    const struct unsorted_sample one = {time, thread, dense_map_number(&samples->sites, site, sizeof(*site))};
    return one.site == DENSE_MAP_NONE ? -1 : sorter_add(&samples->unsorted_samples, &one);
}

int host_samples_add_state(struct host_samples *samples, uint32_t thread, const struct host_state *state,
                           const struct host_site *site)
{
    struct unsorted_state one = {*state, thread};
    one.state.site = dense_map_number(&samples->sites, site, sizeof(*site));
    return one.state.site == DENSE_MAP_NONE ? -1 : sorter_add(&samples->unsorted_states, &one);
}

/* --- the end --- */

/* The period in ns if it cannot be estimated. */
#define USUAL_PERIOD 1000000
#define PERIOD_MOST (INT64_C(1) << 40) /* 18 minutes */

/* A histogram of times between samples, with four bins for each power of two. */
struct spacing {
    uint64_t counts[64 * 4], all;
};

static void count_spacing(struct spacing *spacing, int64_t ns)
{
    if (ns < 4)
        return;
    ns = ns < PERIOD_MOST ? ns : PERIOD_MOST;
    unsigned power = 63 - (unsigned)__builtin_clzll((unsigned long long)ns);
    spacing->counts[4 * power + ((unsigned)(ns >> (power - 2)) & 3)]++;
    spacing->all++;
}

/* Returns the lower quartile of the times between samples of a thread, in ns. It estimates the period: longer times
 * include times in which the thread did not run. */
static int64_t quartile(const struct spacing *spacing)
{
    uint64_t below = 0;
    for (unsigned i = 0; i < sizeof(spacing->counts) / sizeof(*spacing->counts); i++) {
        below += spacing->counts[i];
        if (below > spacing->all / 4)
            return (INT64_C(1) << i / 4) + (INT64_C(1) << i / 4) / 8 * (int64_t)(2 * (i & 3) + 1);
    }
    return USUAL_PERIOD;
}

static int store_samples(struct host_samples *samples)
{
    struct spacing spacing = {0};
    struct sorter_walk walk;
    const struct unsorted_sample *one;
    struct unsorted_sample last = {0};
    int status = sorter_ready(&samples->unsorted_samples);
    if (status < 0)
        return status;
    sorter_walk_begin(&walk, &samples->unsorted_samples);
    while (status == 0 && (one = sorter_next(&walk))) {
        struct host_thread *thread = array_at(&samples->threads, one->thread);
        struct host_sample *kept = thread ? file_vector_push(&samples->samples) : NULL;
        status = kept ? 0 : -1;
        if (!kept)
            break;
        *kept = (struct host_sample){one->time, one->site};
        if (samples->samples.count % EVICT_AFTER == 0)
            file_vector_evict(&samples->samples);
        if (thread->samples++ == 0)
            thread->first_sample = samples->samples.count - 1;
        else
            count_spacing(&spacing, one->time - last.time);
        last = *one;
    }
    samples->period = quartile(&spacing);
    return sorter_walk_end(&walk) ?: status;
}

/* Stores the states, and cuts the beginning of a state that overlaps the state before it. */
static int store_states(struct host_samples *samples)
{
    struct sorter_walk walk;
    const struct unsorted_state *one;
    int status = sorter_ready(&samples->unsorted_states);
    if (status < 0)
        return status;
    sorter_walk_begin(&walk, &samples->unsorted_states);
    while (status == 0 && (one = sorter_next(&walk))) {
        struct host_thread *thread = array_at(&samples->threads, one->thread);
        bool first = thread && thread->states == 0;
        int64_t until = !thread || first ? INT64_MIN : samples->states.items[samples->states.count - 1].end;
        if (thread && one->state.end <= until)
            continue;
        struct host_state *kept = thread ? file_vector_push(&samples->states) : NULL;
        status = kept ? 0 : -1;
        if (!kept)
            break;
        *kept = one->state;
        if (samples->states.count % EVICT_AFTER == 0)
            file_vector_evict(&samples->states);
        kept->start = kept->start < until ? until : kept->start;
        thread->first_state = first ? samples->states.count - 1 : thread->first_state;
        thread->states++;
    }
    return sorter_walk_end(&walk) ?: status;
}

int host_samples_finish(struct host_samples *samples)
{
    int status = store_samples(samples) ?: store_states(samples);
    sorter_release(&samples->unsorted_samples);
    sorter_release(&samples->unsorted_states);
    host_samples_evict(samples);
    return status;
}

/* --- reading --- */

struct host_thread host_samples_thread(const struct host_samples *samples, uint32_t thread)
{
    return thread < samples->threads.count ? samples->threads.items[thread] : (struct host_thread){0};
}

size_t host_samples_from(const struct host_samples *samples, const struct host_thread *thread, int64_t time)
{
    size_t first = thread->first_sample;
    return first + COUNT_BEFORE(thread->samples, i, samples->samples.items[first + i].time < time);
}

size_t host_samples_state_from(const struct host_samples *samples, const struct host_thread *thread, int64_t time)
{
    size_t first = thread->first_state;
    return first + COUNT_BEFORE(thread->states, i, samples->states.items[first + i].end <= time);
}

void host_samples_evict(const struct host_samples *samples)
{
    file_vector_evict(&samples->samples);
    file_vector_evict(&samples->states);
}
