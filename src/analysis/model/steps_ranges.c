/* Steps by ranges: those of one thread and depth whose names are equal up to a number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/steps.h"

/* Ranges of one thread and depth whose names are equal up to a number. */
struct repetition_key {
    uint64_t thread, name, depth; /* name: of steps.names */
};

struct repetition {
    int64_t count, total, last_end;
    int64_t launches; /* of GPU operations within */
    bool overlaps, profiler;
};

struct finder {
    struct steps *steps;
    const struct trace *trace;
    struct dense_map keys; /* struct repetition_key */
    ARRAY(struct repetition) items;
    ARRAY(uint32_t) name_of; /* by the trace's name: the number + 1 in steps.names; 0: not looked at yet */
};

/* The length of NAME without "#7", " 7", "_7", "-7", ":7", "[7]" or "7" at its end. */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name), stem = length;
    if (stem > 0 && (name[stem - 1] == ']' || name[stem - 1] == ')'))
        stem--;
    size_t digits_end = stem;
    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    if (stem == digits_end)
        return length;
    if (stem > 0 && strchr("#_-:[( ", name[stem - 1]))
        stem--;
    return stem > 0 ? stem : length;
}

/* The number that stem_length() leaves out; EVENT_NONE: there is none, or it is too large. */
static int64_t number_in(const char *name)
{
    const char *digits = name + stem_length(name);
    digits += strcspn(digits, "0123456789");
    errno = 0;
    long long number = *digits ? strtoll(digits, NULL, 10) : EVENT_NONE;
    return errno ? EVENT_NONE : number;
}

/* A number of steps.names; INTERN_NO_MEMORY. */
static uint32_t stem_of(struct finder *finder, uint32_t name)
{
    while (finder->name_of.count <= name)
        if (!array_push(&finder->name_of))
            return INTERN_NO_MEMORY;
    uint32_t *known = &finder->name_of.items[name];
    if (!*known) {
        const char *text = interned(&finder->trace->strings, name);
        uint32_t stem = intern(&finder->steps->names, text, stem_length(text));
        if (stem == INTERN_NO_MEMORY)
            return stem;
        *known = stem + 1;
    }
    return *known - 1;
}

#define PROFILER_STEP "ProfilerStep"
#define DEPTH_MOST 8 /* deeper ranges are not looked at */

/* Ranges around the one that the walk opened last. */
static unsigned depth_of(const struct range_walk *walk, const struct range_open *open)
{
    unsigned depth = 0;
    for (; open->outer && depth <= DEPTH_MOST; open = &walk->open.items[open->outer - 1])
        depth++;
    return depth;
}

/* A call of NCCL or MPI is not a step, however often it comes. */
static bool is_communication(const struct trace *trace, const struct range *range)
{
    const char *domain = range->domain == EVENT_NO_TEXT ? "" : interned(&trace->strings, range->domain);
    return strcmp(domain, "NCCL") == 0 || strcmp(domain, "MPI") == 0;
}

/* The key of the range that the walk opened last. Returns 0; 1: it is no candidate; -1: no memory. */
static int key_of(struct finder *finder, const struct range_walk *walk, const struct range_open *open,
                  struct repetition_key *key)
{
    *key = (struct repetition_key){open->range.thread, 0, depth_of(walk, open)};
    if (key->depth > DEPTH_MOST || open->range.name == EVENT_NO_TEXT || is_communication(finder->trace, &open->range))
        return 1;
    key->name = stem_of(finder, open->range.name);
    return key->name == INTERN_NO_MEMORY ? -1 : 0;
}

typedef int (*range_visit)(struct finder *finder, const struct range *range, const struct repetition_key *key);

/* Calls VISIT for each range that nests and its key, by thread and start. */
static int visit_ranges(struct finder *finder, range_visit visit)
{
    struct range_walk walk;
    struct range_open *open;
    struct repetition_key key;
    int status = 0;
    range_walk_begin(&walk, &finder->trace->ranges, true);
    while (status >= 0 && (open = range_walk_open(&walk, LAUNCHED_NO_THREAD, INT64_MAX))) {
        status = key_of(finder, &walk, open, &key);
        if (status == 0)
            status = visit(finder, &open->range, &key);
    }
    int walked = range_walk_end(&walk);
    return status < 0 ? status : walked;
}

#define NOT_A_CANDIDATE UINT32_MAX

/* Counts an operation in all ranges around its launch. */
static int count_launch(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct finder *finder = context;
    struct range_open *open;
    struct repetition_key key;
    while ((open = range_walk_open(walk, op->thread, op->called))) {
        int status = key_of(finder, walk, open, &key);
        open->node = status == 0 ? dense_map_number(&finder->keys, &key, sizeof(key)) : NOT_A_CANDIDATE;
        if (status < 0)
            return -1;
    }
    open = op->thread == LAUNCHED_NO_THREAD ? NULL : range_walk_innermost(walk, op->thread, op->called);
    for (; open; open = open->outer ? &walk->open.items[open->outer - 1] : NULL)
        if (open->node < finder->items.count)
            finder->items.items[open->node].launches++;
    return 0;
}

static int count_range(struct finder *finder, const struct range *range, const struct repetition_key *key)
{
    struct repetition *repetition = dense_map_item(&finder->keys, key, &finder->items);
    if (!repetition)
        return -1;
    repetition->overlaps |= repetition->count > 0 && range->start < repetition->last_end;
    repetition->profiler = strcmp(interned(&finder->steps->names, (uint32_t)key->name), PROFILER_STEP) == 0;
    repetition->count++;
    repetition->total += range->end - range->start;
    repetition->last_end = range->end;
    return 0;
}

/* An outer repetition with at least so much of what an inner one launches is the step. */
#define OUTER_SHARE 0.9

/* Where nothing was launched, the time decides. */
static bool is_better(const struct repetition *a, uint64_t depth, const struct repetition *b, uint64_t best_depth)
{
    bool launches = a->launches > 0 || b->launches > 0;
    double of_a = (double)(launches ? a->launches : a->total), of_b = (double)(launches ? b->launches : b->total);
    if (a->profiler != b->profiler)
        return a->profiler;
    if (depth == best_depth)
        return of_a != of_b ? of_a > of_b : a->total > b->total;
    return depth < best_depth ? of_a >= OUTER_SHARE * of_b : of_b < OUTER_SHARE * of_a;
}

static bool repeats(const struct repetition *repetition)
{
    return repetition->count >= STEPS_LEAST || (repetition->count > 1 && repetition->launches > 0);
}

/* The best repetition of PROCESS: its number in finder.keys; -1: there is none. */
static int64_t best_of(struct finder *finder, uint32_t process)
{
    int64_t best = -1;
    for (size_t i = 0; i < finder->items.count; i++) {
        const struct repetition_key *key = dense_map_row(&finder->keys, i);
        const struct repetition *one = &finder->items.items[i];
        if (finder->trace->threads.items[key->thread].process != process || one->overlaps || !repeats(one))
            continue;
        const struct repetition_key *best_key = best < 0 ? NULL : dense_map_row(&finder->keys, (size_t)best);
        if (!best_key || is_better(one, key->depth, &finder->items.items[best], best_key->depth))
            best = (int64_t)i;
    }
    return best;
}

static struct steps_process *steps_of(struct steps *steps, uint32_t thread, uint32_t name)
{
    for (size_t i = 0; i < steps->processes.count; i++) {
        struct steps_process *process = &steps->processes.items[i];
        if (process->thread == thread && process->name == name)
            return process;
    }
    return NULL;
}

static int take_range(struct finder *finder, const struct range *range, const struct repetition_key *key)
{
    struct steps_process *process = steps_of(finder->steps, range->thread, (uint32_t)key->name);
    int64_t best = process ? best_of(finder, process->process) : -1;
    const struct repetition_key *chosen = best < 0 ? NULL : dense_map_row(&finder->keys, (size_t)best);
    const char *name = interned(&finder->trace->strings, range->name);
    const struct step step = {
        .start = range->start, .end = range->end, .from = range->start, .to = range->end, .number = number_in(name)};
    return chosen && chosen->depth == key->depth ? steps_add(process, &step) : 0;
}

static int find_in_ranges(struct finder *finder)
{
    struct steps *steps = finder->steps;
    int status = visit_ranges(finder, count_range);
    if (status == 0)
        status = range_walk_ops(&finder->trace->ranges, true, &finder->trace->launched_ops, count_launch, NULL, finder);
    for (size_t process = 0; status == 0 && process < finder->trace->processes.count; process++) {
        int64_t best = best_of(finder, (uint32_t)process);
        struct steps_process *added = best < 0 ? NULL : array_push(&steps->processes);
        if (best >= 0 && !added)
            return -1;
        const struct repetition_key *key = best < 0 ? NULL : dense_map_row(&finder->keys, (size_t)best);
        if (key) {
            added->process = (uint32_t)process;
            added->thread = (uint32_t)key->thread;
            added->name = (uint32_t)key->name;
        }
    }
    return status ? status : steps->processes.count > 0 ? visit_ranges(finder, take_range) : 0;
}

int steps_find_ranges(struct steps *steps, const struct trace *trace)
{
    struct finder finder = {.steps = steps, .trace = trace};
    int status = find_in_ranges(&finder);
    dense_map_release(&finder.keys);
    array_release(&finder.items);
    array_release(&finder.name_of);
    return status;
}
