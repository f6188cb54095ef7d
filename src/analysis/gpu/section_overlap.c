/*
 * Sections of how each GPU spent the run (temporal.h), and what ran on it at the same time: communication while kernels
 * computed, copies while kernels ran, and each pair of streams. The share of communication is defined as in HTA. So are
 * the last three rows of a GPU in `temporal`, which divide the time from its first to its last operation; in them,
 * communication that computation overlaps counts as computation.
 */
#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"
#include "analysis/gpu/temporal.h"

#define STREAMS_MOST 64 /* the most streams at a time of which pairs are counted */

struct pair_key {
    uint64_t first, second; /* indices of streams; first < second */
};

struct pair {
    int64_t both; /* ns */
};

struct overlaps {
    struct tally pairs; /* struct pair by struct pair_key */
};

struct running {
    uint32_t stream;
    int64_t until;
};

/* The state of the walk over the operations of a device. */
struct walk {
    struct overlaps *overlaps;
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
            struct pair *pair = tally_item(&walk->overlaps->pairs, &key, struct pair);
            if (!pair)
                return -1;
            sum_add(&pair->both, length);
        }
    return 0;
}

/* Adds the time up to TIME to the pairs of running streams, and removes streams whose operations have ended. Returns 0,
 * or -1: no memory. */
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
    struct walk walk = {.overlaps = state};
    const struct timeline_op *op;
    if (trace->streams.count <= 1)
        return 0;
    return SORTER_EACH(&trace->timeline, op, add_op(&walk, op)) ?: pass(&walk, INT64_MAX);
}

/* --- the tables --- */

struct line {
    const char *word, *text;
    int64_t total;
    int64_t whole; /* ns: 100 % of the first column */
    int64_t part;  /* ns: the first column's share of `whole` */
    int64_t both;  /* ns that overlap with other work; FIELD_ABSENT (as in `alone`): does not apply */
    int64_t alone;
    int64_t first, second; /* indices of streams; FIELD_ABSENT: it is not a pair */
    uint32_t device;
};

static struct cell fill_stream(struct report_row *row, const struct column *column)
{
    int64_t stream = row_integer(row, column);
    return cell_integer(stream == FIELD_ABSENT ? stream : trace_stream_id(row->trace, (size_t)stream)->stream);
}

static FILL(words, table_text(row->table, column->flags &COLUMN_MACHINE ? ROW_ITEM(line)->word : ROW_ITEM(line)->text))

    static const struct column columns[] = {
        {"gpu", "GPU", TYPE_NUMBER, 0, fill_gpu, FROM_ITEM(line, device)},
        {"overlap", "Overlap", TYPE_PERCENT, 0, fill_percent, FROM_ITEM(line, part), PER_ITEM(line, whole)},
        {"overlapped", "Overlapped", TYPE_NS, 0, fill_number, FROM_ITEM(line, both)},
        {"total", "Of", TYPE_NS, 0, fill_number, FROM_ITEM(line, total)},
        {"stream", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_stream, FROM_ITEM(line, first)},
        {"other", "And", TYPE_NUMBER, COLUMN_OPTIONAL, fill_stream, FROM_ITEM(line, second)},
        {"kind", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_words},
        {"what", "What", TYPE_TEXT, 0, .fill = fill_words},
};

static void add_overlap(struct report_row *row, uint32_t device, int64_t both, int64_t total, const char *word,
                        const char *text)
{
    const struct line line = {word, text, total, total, both, both, FIELD_ABSENT, FIELD_ABSENT, FIELD_ABSENT, device};
    if (total > 0)
        section_row(row, NULL, &line);
}

static void finish(struct report_row *row)
{
    const struct temporal *temporal = section_state(row->trace, REPORT_TEMPORAL);
    const struct tally *pairs = row->state;
    for (uint32_t i = 0; i < temporal->devices.count; i++) {
        const struct temporal_device *device = &temporal->devices.items[i];
        if (!device->used)
            continue;
        add_overlap(row, i, temporal_both(device, TEMPORAL_COMMUNICATION, TEMPORAL_COMPUTE),
                    temporal_any(device, TEMPORAL_COMMUNICATION), "communication",
                    "communication while kernels computed");
        add_overlap(row, i, temporal_both(device, TEMPORAL_COPY, TEMPORAL_COMPUTE | TEMPORAL_COMMUNICATION),
                    temporal_any(device, TEMPORAL_COPY), "copies", "copies while kernels ran");
    }
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair_key *key = dense_map_row(&pairs->keys, i);
        int64_t both = TALLY_AT(pairs, struct pair, i)->both;
        const struct trace_stream *first = &row->trace->streams.items[key->first];
        const struct trace_stream *second = &row->trace->streams.items[key->second];
        int64_t less = first->busy.total < second->busy.total ? first->busy.total : second->busy.total;
        const struct line line = {"streams",
                                  "two streams, of the less busy one",
                                  less,
                                  less,
                                  both,
                                  both,
                                  FIELD_ABSENT,
                                  (int64_t)key->first,
                                  (int64_t)key->second,
                                  (uint32_t)first->device};
        section_row(row, NULL, &line);
    }
}

const struct section section_overlap = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct overlaps),
    SECTION_STATE_PLAIN_TALLY(struct pair),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK,
    .sort = "overlapped",
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_TEMPORAL),
    .gather = gather,
    .finish = finish,
};

static const struct column temporal_columns[] = {
    {"gpu", "GPU", TYPE_NUMBER, 0, fill_gpu, FROM_ITEM(line, device)},
    {"share", "Share", TYPE_PERCENT, 0, fill_percent, FROM_ITEM(line, part), PER_ITEM(line, whole)},
    {"total", "Total", TYPE_NS, 0, fill_number, FROM_ITEM(line, total)},
    {"alone", "Alone", TYPE_NS, 0, fill_number, FROM_ITEM(line, alone)},
    {"overlapped", "Overlapped", TYPE_NS, 0, fill_number, FROM_ITEM(line, both)},
    {"kind", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_words},
    {"what", "What", TYPE_TEXT, 0, .fill = fill_words},
};

static void add_temporal(struct report_row *row, uint32_t number, const struct temporal_device *device)
{
    int64_t run = trace_span(row->trace), busy = temporal_any(device, TEMPORAL_ALL);
    int64_t active = device->last - device->first, compute = temporal_any(device, TEMPORAL_COMPUTE);
    struct line lines[] = {
        {"compute", "computation", compute, run, .alone = temporal_alone(device, TEMPORAL_COMPUTE)},
        {"communication", "communication", temporal_any(device, TEMPORAL_COMMUNICATION), run,
         .alone = temporal_alone(device, TEMPORAL_COMMUNICATION)},
        {"copy", "copies", temporal_any(device, TEMPORAL_COPY), run, .alone = temporal_alone(device, TEMPORAL_COPY)},
        {"set", "sets", temporal_any(device, TEMPORAL_SET), run, .alone = temporal_alone(device, TEMPORAL_SET)},
        {"idle", "idle", run - busy, run, .alone = FIELD_ABSENT},
        {"active-idle", "idle, from the first to the last operation", active - busy, active, .alone = FIELD_ABSENT},
        {"active-compute", "computing, from the first to the last operation", compute, active, .alone = FIELD_ABSENT},
        {"active-other", "not computing, from the first to the last operation", busy - compute, active,
         .alone = FIELD_ABSENT},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct line *line = &lines[i];
        line->device = number;
        line->part = line->total;
        line->both = line->alone == FIELD_ABSENT ? FIELD_ABSENT : line->total - line->alone;
        section_row(row, NULL, line);
    }
}

static void finish_temporal(struct report_row *row)
{
    const struct temporal *temporal = row->state;
    for (uint32_t i = 0; i < temporal->devices.count; i++)
        if (temporal->devices.items[i].used)
            add_temporal(row, i, &temporal->devices.items[i]);
}

static int gather_temporal(void *state, const struct trace *trace)
{
    return temporal_gather(state, trace, INT64_MIN, INT64_MAX);
}

static void release_temporal(void *state)
{
    array_release(&((struct temporal *)state)->devices);
}

const struct section section_temporal = {
    SECTION_COLUMNS(temporal_columns),
    .listing = true,
    .headed = true,
    .state_size = sizeof(struct temporal),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK,
    .indexes = {.timeline = true},
    .gather = gather_temporal,
    .finish = finish_temporal,
    .release = release_temporal,
};
