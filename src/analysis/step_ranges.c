/*
 * Ranges are read twice: to count them by thread and name, and to add up the time of those that repeat and are in no
 * other that repeats.
 */
#include "analysis/step_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/dense_map.h"
#include "analysis/trace.h"

/* The number in a name of the profiler; -1: it is another name. */
static int64_t profiler_number(const char *name)
{
    size_t length = strlen(STEP_RANGES_PROFILER);
    char *end;
    if (strncmp(name, STEP_RANGES_PROFILER, length) != 0 || name[length] < '0' || name[length] > '9')
        return -1;
    errno = 0;
    int64_t number = strtoll(name + length, &end, 10);
    return *end || errno ? -1 : number;
}

static const char *name_of(const struct trace *trace, const struct range *range)
{
    return trace_text(trace, range->name);
}

/* --- which range it is --- */

struct kind_key {
    uint64_t thread, name, domain;
};
struct step_kind {
    uint64_t count;    /* ranges of the name on the thread */
    uint64_t outer;    /* of them, those in no other range that repeats … */
    int64_t outer_sum; /* … and their time */
};

struct search {
    struct dense_map ids; /* struct kind_key -> kinds */
    ARRAY(struct step_kind) kinds;
    bool numbered;
};

static struct step_kind *kind_of(struct search *search, const struct range *range)
{
    const struct kind_key key = {range->thread, range->name, range->domain};
    return dense_map_item(&search->ids, &key, &search->kinds);
}

static int count_ranges(struct search *search, const struct trace *trace)
{
    struct sorter_walk walk;
    const struct range *range;
    int status = 0;
    sorter_walk_begin(&walk, &trace->ranges.sorter);
    while (status == 0 && (range = sorter_next(&walk))) {
        struct step_kind *kind = kind_of(search, range);
        status = kind ? 0 : -1;
        if (kind)
            kind->count++;
        search->numbered |= profiler_number(name_of(trace, range)) >= 0;
    }
    int ended = sorter_walk_end(&walk);
    return status ? status : ended;
}

/* Of an open range `node` is 1 if it or one around it repeats. */
static int add_outer(struct search *search, struct range_walk *walk, struct range_open *open)
{
    struct step_kind *kind = kind_of(search, &open->range);
    bool within = open->outer && walk->open.items[open->outer - 1].node;
    if (!kind)
        return -1;
    open->node = within || kind->count > 1;
    if (within || kind->count < 2)
        return 0;
    kind->outer++;
    if (__builtin_add_overflow(kind->outer_sum, open->range.end - open->range.start, &kind->outer_sum))
        kind->outer_sum = INT64_MAX;
    return 0;
}

static int sum_outer(struct search *search, const struct trace *trace)
{
    struct range_walk walk;
    struct range_open *open;
    int status = 0;
    range_walk_begin(&walk, &trace->ranges, false);
    while (status == 0 && (open = range_walk_open(&walk, UINT32_MAX, INT64_MAX)))
        status = add_outer(search, &walk, open);
    int ended = range_walk_end(&walk);
    return status ? status : ended;
}

/* The kind with the most time; names with several threads have one for each, of which one is enough. */
static void choose(struct step_ranges *steps, const struct search *search)
{
    int64_t most = -1;
    for (size_t i = 0; i < search->kinds.count; i++) {
        const struct step_kind *kind = &search->kinds.items[i];
        const struct kind_key *key = dense_map_row(&search->ids, i);
        if (kind->outer < 2 || kind->outer_sum <= most || key->name == EVENT_NO_TEXT)
            continue;
        most = kind->outer_sum;
        *steps = (struct step_ranges){.any = true, .name = (uint32_t)key->name, .domain = (uint32_t)key->domain};
    }
}

int step_ranges_find(struct step_ranges *steps, const struct trace *trace)
{
    struct search search = {0};
    *steps = (struct step_ranges){0};
    int status = count_ranges(&search, trace);
    if (status == 0 && search.numbered)
        *steps = (struct step_ranges){.any = true, .numbered = true};
    else if (status == 0)
        status = sum_outer(&search, trace);
    if (status == 0 && !steps->any)
        choose(steps, &search);
    dense_map_release(&search.ids);
    array_release(&search.kinds);
    return status;
}

/* --- its occurrences --- */

/* What is counted on one thread after another. */
struct counter_of_steps {
    uint32_t thread;
    bool any;
    int64_t count, until; /* the end of the last */
};

static void begin_thread(struct counter_of_steps *counter, uint32_t thread)
{
    if (!counter->any || counter->thread != thread)
        *counter = (struct counter_of_steps){.thread = thread, .any = true, .until = INT64_MIN};
}

static bool is_step(const struct step_ranges *steps, const struct trace *trace, struct counter_of_steps *counter,
                    const struct range *range, int64_t *number)
{
    if (steps->numbered)
        return (*number = profiler_number(name_of(trace, range))) >= 0;
    if (range->name != steps->name || range->domain != steps->domain || range->start < counter->until)
        return false;
    counter->until = range->end;
    *number = ++counter->count;
    return true;
}

int step_ranges_each(const struct step_ranges *steps, const struct trace *trace,
                     int (*each)(void *context, const struct step_range *step), void *context)
{
    struct counter_of_steps counter = {0};
    struct sorter_walk walk;
    const struct range *range;
    int status = 0;
    sorter_walk_begin(&walk, &trace->ranges.sorter);
    while (status == 0 && steps->any && (range = sorter_next(&walk))) {
        int64_t number;
        begin_thread(&counter, range->thread);
        if (is_step(steps, trace, &counter, range, &number))
            status = each(context, &(struct step_range){*range, number});
    }
    int ended = sorter_walk_end(&walk);
    return status ? status : ended;
}

int step_ranges_each_named(const struct trace *trace, const char *name, size_t length,
                           int (*each)(void *context, const struct step_range *step), void *context)
{
    struct counter_of_steps counter = {0};
    struct sorter_walk walk;
    const struct range *range;
    int status = 0;
    sorter_walk_begin(&walk, &trace->ranges.sorter);
    while (status == 0 && (range = sorter_next(&walk))) {
        const char *text = name_of(trace, range);
        begin_thread(&counter, range->thread);
        if (strncmp(text, name, length) == 0 && text[length] == '\0')
            status = each(context, &(struct step_range){*range, ++counter.count});
    }
    int ended = sorter_walk_end(&walk);
    return status ? status : ended;
}
