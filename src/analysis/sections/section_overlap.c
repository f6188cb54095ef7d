/*
 * What ran at the same time on a GPU: communication while kernels computed, copies while kernels ran, and each two
 * streams. The share of communication is HTA's.
 */
#include "analysis/base/cost_sum.h"
#include "analysis/model/section.h"
#include "analysis/model/temporal.h"

#define STREAMS_MOST 64 /* that run at once: of more, pairs are not counted */

struct pair_key {
    uint64_t first, second; /* indices of streams; first < second */
};

struct pair {
    int64_t both; /* ns */
};

struct state {
    struct tally pairs; /* struct pair by struct pair_key */
};

struct running {
    uint32_t stream;
    int64_t until;
};

/* Where the walk is on a device. */
struct walk {
    struct state *state;
    bool any;
    uint32_t device;
    int64_t time;
    struct running running[STREAMS_MOST];
    size_t count;
};

static int add_pairs(struct walk *walk, int64_t length)
{
    for (size_t i = 0; i < walk->count; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t a = walk->running[i].stream, b = walk->running[k].stream;
            const struct pair_key key = {a < b ? a : b, a < b ? b : a};
            struct pair *pair = tally_item(&walk->state->pairs, &key, struct pair);
            if (!pair)
                return -1;
            sum_add(&pair->both, length);
        }
    return 0;
}

/* Adds the time up to TIME, and drops what has ended. */
static int pass(struct walk *walk, int64_t time)
{
    while (walk->count > 0 && walk->time < time) {
        int64_t next = time;
        size_t kept = 0;
        for (size_t i = 0; i < walk->count; i++)
            next = walk->running[i].until < next ? walk->running[i].until : next;
        if (walk->count > 1 && next > walk->time && add_pairs(walk, next - walk->time) < 0)
            return -1;
        walk->time = next;
        for (size_t i = 0; i < walk->count; i++)
            if (walk->running[i].until > next)
                walk->running[kept++] = walk->running[i];
        walk->count = kept;
    }
    walk->time = time;
    return 0;
}

static int add_op(struct walk *walk, const struct timeline_op *op)
{
    bool again = walk->any && op->device == walk->device;
    if (pass(walk, again ? op->start : INT64_MAX) < 0)
        return -1;
    walk->any = true;
    walk->device = op->device;
    walk->time = op->start;
    for (size_t i = 0; i < walk->count; i++)
        if (walk->running[i].stream == op->stream) {
            walk->running[i].until = op->end > walk->running[i].until ? op->end : walk->running[i].until;
            return 0;
        }
    if (walk->count < STREAMS_MOST && op->end > op->start)
        walk->running[walk->count++] = (struct running){op->stream, op->end};
    return 0;
}

static int gather(void *state, const struct trace *trace)
{
    struct walk walk = {.state = state};
    struct sorter_walk ops;
    const struct timeline_op *op;
    int status = 0;
    sorter_walk_begin(&ops, &trace->timeline);
    while (status == 0 && trace->streams.count > 1 && (op = sorter_next(&ops)))
        status = add_op(&walk, op);
    if (status == 0)
        status = pass(&walk, INT64_MAX);
    return sorter_walk_end(&ops) ?: status;
}

/* --- the table --- */

struct line {
    int64_t total, both; /* ns */
    size_t device;
    int64_t first, second; /* indices of streams; EVENT_NONE: it is not a pair */
    const char *word, *text;
};

static struct cell fill_percent(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    (void)column;
    return line->total > 0 ? cell_share(line->both, line->total) : (struct cell){0};
}

static struct cell fill_gpu(struct report_row *row, const struct column *column)
{
    (void)column;
    return cell_integer(trace_device_id(row->trace, ((const struct line *)row->item)->device));
}

static struct cell fill_stream(struct report_row *row, const struct column *column)
{
    int64_t stream = row_integer(row, column);
    return cell_integer(stream == EVENT_NONE ? stream : trace_stream_id(row->trace, (size_t)stream)->stream);
}

static struct cell fill_words(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    return table_text(row->table, column->flags & COLUMN_MACHINE ? line->word : line->text);
}

static const struct column columns[] = {
    {"gpu", "GPU", TYPE_NUMBER, 0, .fill = fill_gpu},
    {"overlap", "Overlap", TYPE_PERCENT, 0, .fill = fill_percent},
    {"overlapped", "Overlapped", TYPE_NS, 0, fill_number, FROM_ITEM(line, both)},
    {"total", "Of", TYPE_NS, 0, fill_number, FROM_ITEM(line, total)},
    {"stream", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_stream, FROM_ITEM(line, first)},
    {"other", "And", TYPE_NUMBER, COLUMN_OPTIONAL, fill_stream, FROM_ITEM(line, second)},
    {"kind", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_words},
    {"what", "What", TYPE_TEXT, 0, .fill = fill_words},
};

static int add_device(struct report_row *row, size_t number, const struct temporal_device *device)
{
    unsigned kernels = TEMPORAL_COMPUTE | TEMPORAL_COMMUNICATION;
    const struct line lines[] = {
        {temporal_any(device, TEMPORAL_COMMUNICATION), temporal_both(device, TEMPORAL_COMMUNICATION, TEMPORAL_COMPUTE),
         number, EVENT_NONE, EVENT_NONE, "communication", "communication while kernels computed"},
        {temporal_any(device, TEMPORAL_COPY), temporal_both(device, TEMPORAL_COPY, kernels), number, EVENT_NONE,
         EVENT_NONE, "copies", "copies while kernels ran"},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (lines[i].total > 0 && section_row(row, NULL, &lines[i]) < 0)
            return -1;
    return 0;
}

static int add_pair(struct report_row *row, const struct pair_key *key, const struct pair *pair)
{
    const struct trace_stream *first = &row->trace->streams.items[key->first];
    const struct trace_stream *second = &row->trace->streams.items[key->second];
    const struct line line = {
        .total = first->busy.total < second->busy.total ? first->busy.total : second->busy.total,
        .both = pair->both,
        .device = first->device,
        .first = (int64_t)key->first,
        .second = (int64_t)key->second,
        .word = "streams",
        .text = "two streams, of the less busy one",
    };
    return section_row(row, NULL, &line);
}

static int finish(struct report_row *row)
{
    const struct temporal *temporal = section_state(row->trace, REPORT_TEMPORAL);
    const struct tally *pairs = row->state;
    for (size_t i = 0; i < temporal->devices.count; i++)
        if (temporal->devices.items[i].used && add_device(row, i, &temporal->devices.items[i]) < 0)
            return -1;
    for (size_t i = 0; i < pairs->count; i++)
        if (add_pair(row, dense_map_row(&pairs->keys, i), (const struct pair *)pairs->items + i) < 0)
            return -1;
    return 0;
}

const struct section section_overlap = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct state),
    SECTION_STATE_TALLY(struct pair, 0),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK,
    .sort = "overlapped",
    .timeline = true,
    .needs = REPORT_BIT(REPORT_TEMPORAL),
    .gather = gather,
    .finish = finish,
};
