/*
 * For each operation, compares when the ranks began: how long each rank waited, which rank was last, and how late each
 * was.
 */
#include "analysis/ranks/ranks.h"

#include <stdlib.h>

#include "analysis/base/cost_sum.h"
#include "common/array.h"
#include "analysis/comm/collective.h"
#include "analysis/ranks/comm.h"

void ranks_release(struct ranks *ranks)
{
    interner_release(&ranks->texts);
    pretty_names_release(&ranks->pretty);
    array_release(&ranks->items);
    array_release(&ranks->names);
    array_release(&ranks->steps);
    transfers_release(&ranks->transfers);
    dense_map_release(&ranks->neighbours.keys);
    array_release(&ranks->neighbours.rows);
    array_release(&ranks->starts);
}

/* --- who waited for whom --- */

static int compare_times(const void *left, const void *right)
{
    return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

/* Returns the operation of a typical rank: a third of the ranks began before it, so that two late ranks of four do not
 * hide each other. The times of at least two ranks must be known. */
static const struct collective *typical_of(struct ranks *ranks, const struct collective *operation, size_t count)
{
    int64_t start, duration;
    ranks->starts.count = 0;
    for (size_t i = 0; i < count; i++) {
        if (comm_times(&operation[i], &start, &duration))
            ADD(array_push, &ranks->starts, start);
    }
    if (ranks->starts.count == 0) /* no memory */
        return &operation[0];
    qsort(ranks->starts.items, ranks->starts.count, sizeof(int64_t), compare_times);
    int64_t typical = ranks->starts.items[(ranks->starts.count - 1) / 3];
    for (size_t i = 0; i < count; i++)
        if (comm_times(&operation[i], &start, &duration) && start == typical)
            return &operation[i];
    return &operation[0];
}

/* Adds how long the ranks waited for the last one, and how late each was. FIRST: this is the first operation of its
 * communicator. */
static void add_waits(struct ranks *ranks, const struct collective *operation, const uint32_t *index, size_t count,
                      int64_t last, bool first)
{
    const struct collective *typical = typical_of(ranks, operation, count);
    bool pair = operation[0].source >= 0;
    int64_t waited = 0, typical_start, typical_duration;
    uint32_t latest = UINT32_MAX;
    comm_times(typical, &typical_start, &typical_duration);
    for (size_t i = 0; i < count; i++) {
        int64_t start, duration, wait = operation[i].joint ? 0 : comm_wait(&operation[i], last);
        if (index[i] >= ranks->items.count || !comm_times(&operation[i], &start, &duration))
            continue;
        struct rank *rank = &ranks->items.items[index[i]];
        rank->compared++;
        sum_add(&rank->waited, wait);
        sum_add(&waited, wait);
        latest = start == last ? index[i] : latest;
        int64_t late = start - typical_start < typical_duration ? start - typical_start : typical_duration;
        if (first || pair || operation[i].joint || late <= 0)
            continue;
        sum_add(&rank->late, late);
        rank->late_operations++;
        if (late > rank->worst) {
            rank->worst = late;
            rank->worst_at = start;
        }
    }
    if (latest != UINT32_MAX)
        sum_add(&ranks->items.items[latest].delayed, waited);
}

/* Adds a send and its receive to NEIGHBOURS; ignores other operations. */
static int add_neighbours(struct neighbours *neighbours, const struct collective *operation, const uint32_t *index,
                          size_t count, size_t ranks)
{
    int64_t start, duration;
    if (count != 2 || operation[0].source < 0 || index[0] >= ranks || index[1] >= ranks || index[0] == index[1] ||
        operation[0].kind == operation[1].kind)
        return 0;
    unsigned sender = operation[0].kind == COLLECTIVE_SEND ? 0 : 1;
    const struct neighbour_key key = {index[sender], index[!sender]};
    if (operation[sender].kind != COLLECTIVE_SEND || !comm_times(&operation[sender], &start, &duration))
        return 0;
    struct neighbour_row *row = dense_map_item(&neighbours->keys, &key, &neighbours->rows);
    if (!row)
        return -1;
    row->first = row->count == 0 || start < row->first ? start : row->first;
    row->count++;
    row->alone += operation[0].group_call == FIELD_ABSENT && operation[1].group_call == FIELD_ABSENT;
    return 0;
}

const struct neighbour_row *neighbours_find(const struct neighbours *neighbours, uint32_t from, uint32_t to)
{
    const struct neighbour_key key = {from, to};
    uint32_t number = dense_map_lookup(&neighbours->keys, &key, sizeof(key));
    return number == DENSE_MAP_NONE ? NULL : &neighbours->rows.items[number];
}

int ranks_add_operation(struct ranks *ranks, const struct collective *operation, const uint32_t *index, size_t count)
{
    int64_t last = comm_last_start(operation, count);
    /* The first operation of a communicator also waits for ranks that start later. */
    bool first = !ranks->any || !collective_same_group(&ranks->last, &operation[0]);
    ranks->any = true;
    ranks->last = operation[0];
    for (size_t i = 0; i < count; i++) {
        const struct collective *one = &operation[i];
        int64_t start, duration;
        if (index[i] >= ranks->items.count || one->joint || !comm_times(one, &start, &duration))
            continue;
        struct rank *rank = &ranks->items.items[index[i]];
        int64_t time = one->called != FIELD_ABSENT ? one->called : start,
                wait = last == FIELD_ABSENT ? 0 : comm_wait(one, last);
        bool counts = rank_steps_add_operation(&ranks->steps, index[i], time, duration, wait);
        /* The time that the rank waited for its neighbour, computing nothing. A kernel that sends and receives waits
         * for several ranks, so all of its time counts. */
        int64_t waited = one->group_call == FIELD_ABSENT ? wait : duration;
        waited = one->exposed != FIELD_ABSENT && one->exposed < waited ? one->exposed : waited;
        if (one->source >= 0 && (counts || rank->steps == 0))
            sum_add(&rank->neighbours, waited);
        if (last != FIELD_ABSENT && !first)
            sum_add(&rank->blocked, one->exposed != FIELD_ABSENT && !rank->shares ? one->exposed : duration);
    }
    if (last == FIELD_ABSENT)
        return 0;
    add_waits(ranks, operation, index, count, last, first);
    return transfers_add(&ranks->transfers, operation, index, count, ranks->items.count)
               ?: add_neighbours(&ranks->neighbours, operation, index, count, ranks->items.count);
}

/* --- sums --- */

bool rank_is_host_cause(unsigned cause)
{
    return cause == IDLE_UNKNOWN || (cause >= IDLE_SYNC && cause <= IDLE_LAUNCH);
}

unsigned rank_main_cause(const struct rank *rank)
{
    unsigned most = IDLE_CAUSE_COUNT;
    for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++)
        if (i != IDLE_BEFORE && i != IDLE_AFTER && rank->causes[i] > 0 &&
            (most == IDLE_CAUSE_COUNT || rank->causes[i] > rank->causes[most]))
            most = i;
    return most;
}

int64_t rank_host_idle(const struct rank *rank)
{
    int64_t idle = 0;
    for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++)
        sum_add(&idle, rank_is_host_cause(i) ? rank->causes[i] : 0);
    return idle - rank->loading;
}

/* --- the table --- */

static struct cell fill_host(struct report_row *row, const struct column *column)
{
    const struct ranks *ranks = row->state;
    uint32_t host = ((const struct rank *)row->item)->host;
    return host == EVENT_NO_TEXT ? (struct cell){0} : table_text(row->table, interned(&ranks->texts, host));
}

/* Fills a cell with the column's number, or leaves it empty if no operation was compared with another rank. */
static struct cell fill_compared(struct report_row *row, const struct column *column)
{
    return ((const struct rank *)row->item)->compared ? fill_number(row, column) : (struct cell){0};
}

/* Fills a cell with the main cause of idle time: its word for programs; for people its text, with what the host mostly
 * did. */
static struct cell fill_cause(struct report_row *row, const struct column *column)
{
    const struct rank *rank = row->item;
    unsigned cause = rank_main_cause(rank);
    if (cause == IDLE_CAUSE_COUNT)
        return (struct cell){0};
    if (column->flags & COLUMN_MACHINE)
        return table_text(row->table, idle_cause_words[cause].word);
    if (rank->mostly[cause] == EVENT_NO_TEXT)
        return table_text(row->table, idle_cause_words[cause].text);
    return table_format(row->table, "%s: %s", idle_cause_words[cause].text,
                        interned(&((const struct ranks *)row->state)->texts, rank->mostly[cause]));
}

const struct column ranks_columns[RANKS_COLUMNS] = {
    {"rank", "Rank", TYPE_NUMBER, 0, fill_number, FROM_ITEM(rank, rank), .importance = 100},
    {"step", "Step avg", TYPE_NS, COLUMN_OPTIONAL, fill_quotient, FROM_ITEM(rank, step_total), PER_ITEM(rank, steps),
     .importance = 80},
    {"steps", "Steps", TYPE_COUNT, COLUMN_MACHINE, fill_number, FROM_ITEM(rank, steps)},
    {"compute", "Compute", TYPE_NS, 0, fill_number, FROM_ITEM(rank, compute), .importance = 90},
    {"communication", "Commun.", TYPE_NS, 0, fill_number, FROM_ITEM(rank, communication), .importance = 70},
    {"exposed", "Exposed", TYPE_NS, 0, fill_number, FROM_ITEM(rank, exposed), .importance = 60},
    {"copies", "Copies", TYPE_NS, 0, fill_number, FROM_ITEM(rank, copies), .importance = 50},
    {"idle", "Idle", TYPE_NS, 0, fill_number, FROM_ITEM(rank, idle), .importance = 85},
    {"waited", "Waited", TYPE_NS, COLUMN_OPTIONAL, fill_compared, FROM_ITEM(rank, waited), .importance = 75},
    {"delayed", "Others waited", TYPE_NS, COLUMN_OPTIONAL, fill_compared, FROM_ITEM(rank, delayed), .importance = 78},
    {"late", "Late", TYPE_NS, COLUMN_OPTIONAL, fill_compared, FROM_ITEM(rank, late), .importance = 65},
    {"late_operations", "Late in", TYPE_COUNT, COLUMN_MACHINE, fill_compared, FROM_ITEM(rank, late_operations)},
    {"host", "Host", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_host, .importance = 72},
    {"idle_cause", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_cause},
    {"why", "Mostly idle because", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_cause, .importance = 68},
};

static int by_rank(const void *left, const void *right)
{
    const struct rank *const *a = left, *const *b = right;
    return ORDER((*a)->rank, (*b)->rank) ?: ORDER(*a, *b);
}

const struct rank **ranks_by_number(const struct ranks *ranks)
{
    size_t count = ranks->items.count;
    const struct rank **order = calloc(count + 1, sizeof(*order));
    for (size_t i = 0; order && i < count; i++)
        order[i] = &ranks->items.items[i];
    if (count > 1 && order)
        qsort(order, count, sizeof(*order), by_rank);
    return order;
}

int ranks_fill(struct report_row *row, const struct ranks *ranks)
{
    const struct rank **order = ranks_by_number(ranks);
    int status = order ? 0 : -1;
    row->state = (void *)(uintptr_t)ranks;
    for (size_t i = 0; i < ranks->items.count && status == 0; i++)
        section_row(row, NULL, order[i]);
    free(order);
    return status;
}

/* --- steps --- */

int rank_steps_add(struct rank_steps *steps, uint32_t rank, const struct steps_process *process)
{
    uint32_t width = 1;
    if (steps->count > 0 && steps->items[steps->count - 1].rank == rank)
        return 0;
    while (process->items.count > (size_t)width * RANK_STEPS_MOST)
        width *= 2;
    for (size_t i = 0; i < process->items.count; i++) {
        const struct step *one = &process->items.items[i];
        const struct rank_step first = {.rank = rank, .first = (uint32_t)i, .width = width, .from = one->from};
        if (i % width == 0 && !ADD(array_push, steps, first))
            return -1;
        struct rank_step *step = &steps->items[steps->count - 1];
        step->count++;
        step->to = one->to;
        sum_add(&step->total, one->end - one->start);
        sum_add(&step->gpu, one->gpu);
    }
    return 0;
}

/* Returns the last item of RANK that began at TIME or before, or NULL. */
static struct rank_step *find(const struct rank_steps *steps, uint32_t rank, int64_t time)
{
    struct rank_step *items = steps->items;
    size_t count =
        COUNT_BEFORE(steps->count, i, items[i].rank < rank || (items[i].rank == rank && items[i].from <= time));
    return count > 0 && items[count - 1].rank == rank ? &items[count - 1] : NULL;
}

int64_t rank_steps_begin(const struct rank_steps *steps, uint32_t rank)
{
    const struct rank_step *step = find(steps, rank, INT64_MAX);
    while (step && step > steps->items && step[-1].rank == rank)
        step--;
    return step ? step->from : INT64_MIN;
}

bool rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited)
{
    struct rank_step *step = find(steps, rank, time);
    if (!step || time > step->to)
        return false;
    sum_add(&step->communication, duration);
    sum_add(&step->waited, waited);
    return true;
}

static const enum rank_step_cause groups[IDLE_CAUSE_COUNT] = {
    [IDLE_BEFORE... IDLE_AFTER] = RANK_STEP_OTHER,
    [IDLE_SYNC... IDLE_CALL] = RANK_STEP_CALLS,
    [IDLE_OUTSIDE] = RANK_STEP_OUTSIDE,
    [IDLE_LAUNCH] = RANK_STEP_LAUNCH,
    [IDLE_EVENT... IDLE_HELD] = RANK_STEP_QUEUED,
    [IDLE_UNKNOWN] = RANK_STEP_OTHER,
};

void rank_steps_add_idle(struct rank_steps *steps, uint32_t rank, const struct idle_interval *interval)
{
    int64_t end = interval->start + interval->length;
    struct rank_step *step = find(steps, rank, interval->start);
    if (!step) /* the interval begins before the first step */
        step = find(steps, rank, end);
    while (step && step > steps->items && step[-1].rank == rank && step[-1].to > interval->start)
        step--;
    for (; step && step < steps->items + steps->count && step->rank == rank && step->from < end; step++) {
        int64_t from = step->from > interval->start ? step->from : interval->start,
                to = step->to < end ? step->to : end;
        sum_add(&step->idle[groups[interval->cause]], to > from ? to - from : 0);
    }
}

bool rank_step_is_good(const struct rank_step *step, size_t ranks)
{
    uint32_t width = step->width;
    return step->rank < ranks && width > 0 && width <= STEPS_MOST && (width & (width - 1)) == 0 &&
           step->first < STEPS_MOST && step->first % width == 0 && step->count > 0 && step->count <= width;
}
