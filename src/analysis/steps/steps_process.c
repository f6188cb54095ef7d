/*
 * Finds periods of the operations that a thread launches. A period begins with each launch of one operation, the
 * anchor; the rarest operations are tried in turn. The usual period is the sequence of names, as a hash, of more than
 * half of the periods.
 */

#include "analysis/steps/steps_process.h"

#define SEQUENCE_MOST (1u << 20) /* operations of a thread that are read */
#define CANDIDATES 8             /* operations that are tried as anchors */
#define PERIOD_LEAST 3           /* the fewest operations of a period */
#define PERIODS_EQUAL 0.8        /* the least share of periods that are equal to the usual one */

struct sequence {
    ARRAY(struct launch) items;
    ARRAY(uint32_t) counts; /* by name */
};
struct launch {
    int64_t called, start;
    uint32_t name;
};

/* The periods that begin with one name: their number, and how many are equal to the usual period. */
struct periods {
    uint64_t usual; /* hash of the usual period */
    size_t length;  /* operations of the usual period */
    size_t count, equal;
    int64_t votes;
};

/* With VOTES, finds the usual period by majority vote (Boyer and Moore), in one pass, wherever the unusual periods are:
 * the first periods load code and allocate, and DistributedDataParallel changes its buckets in the second. Without
 * VOTES, counts all periods, and those equal to the usual one. */
static void pass_periods(const struct sequence *sequence, uint32_t name, struct periods *periods, bool votes)
{
    const struct launch *items = sequence->items.items, *from = NULL;
    uint64_t hash = 0; /* of the names of the operations since `from` */
    for (const struct launch *at = items; at < items + sequence->items.count; at++) {
        if (at->name == name) {
            if (from && votes && periods->votes == 0) {
                periods->usual = hash;
                periods->length = (size_t)(at - from);
            }
            if (from && votes)
                periods->votes += periods->usual == hash ? 1 : -1;
            periods->count += from && !votes;
            periods->equal += from && !votes && periods->usual == hash;
            from = at;
            hash = 0;
        }
        hash = (hash ^ hash >> 29 ^ at->name) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

/* Returns the name of the operation whose regular periods have the most operations in all, or EVENT_NO_TEXT. */
static uint32_t anchor_of(const struct sequence *sequence)
{
    uint32_t best = EVENT_NO_TEXT, below = 0;
    size_t best_regular = 0;
    for (unsigned tried = 0; tried < CANDIDATES; tried++) {
        uint32_t rarest = UINT32_MAX;
        for (size_t i = 0; i < sequence->items.count; i++) {
            uint32_t count = sequence->counts.items[sequence->items.items[i].name];
            rarest = count > below && count >= STEPS_LEAST && count < rarest ? count : rarest;
        }
        if (rarest == UINT32_MAX)
            return best;
        for (const struct launch *at = sequence->items.items; at < sequence->items.items + sequence->items.count; at++)
            if (sequence->counts.items[at->name] == rarest) { /* the first such operation in the order of launches */
                /* Count the operations in usual periods that begin with this one; 0: its periods are not regular. */
                struct periods periods = {0};
                pass_periods(sequence, at->name, &periods, true);
                pass_periods(sequence, at->name, &periods, false);
                bool is_period = periods.length >= PERIOD_LEAST && periods.count + 1 >= STEPS_LEAST &&
                                 (double)periods.equal >= PERIODS_EQUAL * (double)(periods.count - 1);
                size_t found = is_period ? periods.equal * periods.length : 0;
                if (found > best_regular) {
                    best = at->name;
                    best_regular = found;
                }
                break;
            }
        below = rarest;
    }
    return best_regular * 2 >= sequence->items.count ? best : EVENT_NO_TEXT;
}

static int add_periods(struct steps *steps, const struct trace *trace, const struct sequence *sequence, uint32_t thread)
{
    uint32_t anchor = anchor_of(sequence), process = trace->threads.items[thread].process;
    const struct launch *from = NULL;
    struct steps_process *steps_in = NULL;
    if (anchor == EVENT_NO_TEXT || steps_process(steps, process))
        return 0;
    for (size_t i = 0; i < sequence->items.count; i++) {
        const struct launch *at = &sequence->items.items[i];
        if (at->name != anchor)
            continue;
        if (from && at->start > from->start) {
            const struct step step = {from->start, at->start, from->called, at->called, FIELD_ABSENT, 0, 0};
            if (!steps_in) { /* a process is only added with its first step */
                if (!(steps_in = steps_process_new(steps, process)))
                    return -1;
                steps_in->thread = thread;
                steps_in->name = EVENT_NO_TEXT;
            }
            if (steps_add(steps_in, &step) < 0)
                return -1;
        }
        from = at;
    }
    return 0;
}

int steps_find_periods(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    struct sequence sequence = {0};
    struct sorter_walk walk;
    const struct launched_op *op;
    uint32_t thread = LAUNCHED_NO_THREAD;
    int status = 0;
    sorter_walk_begin(&walk, launched);
    while (status == 0 && (op = sorter_next(&walk)) && op->thread != LAUNCHED_NO_THREAD) {
        if (op->thread != thread && thread != LAUNCHED_NO_THREAD) {
            status = add_periods(steps, trace, &sequence, thread);
            while (sequence.items.count > 0)
                sequence.counts.items[sequence.items.items[--sequence.items.count].name] = 0;
        }
        thread = op->thread;
        if (status < 0 || sequence.items.count >= SEQUENCE_MOST)
            continue;
        const struct launch launch = {op->called, op->start, op->name};
        uint32_t *count = array_at(&sequence.counts, op->name);
        status = count && ADD(array_push, &sequence.items, launch) ? 0 : -1;
        if (status == 0)
            ++*count;
    }
    if (status == 0 && thread != LAUNCHED_NO_THREAD)
        status = add_periods(steps, trace, &sequence, thread);
    array_release(&sequence.counts);
    array_release(&sequence.items);
    return sorter_walk_end(&walk) ?: status;
}
