/*
 * How each GPU spent the run (temporal.h). The last three rows of a GPU divide the time from its first to its last
 * operation as HTA's temporal breakdown does: communication that computation overlaps counts as computation.
 */
#include "analysis/model/section.h"
#include "analysis/model/temporal.h"

static int gather(void *state, const struct trace *trace)
{
    return temporal_gather(state, trace);
}

static void release(void *state)
{
    array_release(&((struct temporal *)state)->devices);
}

struct line {
    int64_t total, whole, alone; /* ns; alone: EVENT_NONE: does not apply */
    size_t device;
    const char *word, *text;
};

static struct cell fill_share_of(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    (void)column;
    return cell_share(line->total, line->whole);
}

static struct cell fill_overlapped(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    (void)column;
    return cell_integer(line->alone == EVENT_NONE ? EVENT_NONE : line->total - line->alone);
}

static struct cell fill_gpu(struct report_row *row, const struct column *column)
{
    (void)column;
    return cell_integer(trace_device_id(row->trace, ((const struct line *)row->item)->device));
}

static struct cell fill_words(struct report_row *row, const struct column *column)
{
    const struct line *line = row->item;
    return table_text(row->table, column->flags & COLUMN_MACHINE ? line->word : line->text);
}

static const struct column columns[] = {
    {"gpu", "GPU", TYPE_NUMBER, 0, .fill = fill_gpu},
    {"share", "Share", TYPE_PERCENT, 0, .fill = fill_share_of},
    {"total", "Total", TYPE_NS, 0, fill_number, FROM_ITEM(line, total)},
    {"alone", "Alone", TYPE_NS, 0, fill_number, FROM_ITEM(line, alone)},
    {"overlapped", "Overlapped", TYPE_NS, 0, .fill = fill_overlapped},
    {"kind", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_words},
    {"what", "What", TYPE_TEXT, 0, .fill = fill_words},
};

static int add(struct report_row *row, size_t device, const struct line *what)
{
    struct line line = *what;
    line.device = device;
    return section_row(row, NULL, &line);
}

static int add_device(struct report_row *row, size_t number, const struct temporal_device *device)
{
    static const struct {
        unsigned kind;
        const char *word, *text;
    } kinds[] = {
        {TEMPORAL_COMPUTE, "compute", "computation"},
        {TEMPORAL_COMMUNICATION, "communication", "communication"},
        {TEMPORAL_COPY, "copy", "copies"},
        {TEMPORAL_SET, "set", "sets"},
    };
    int64_t run = trace_span(row->trace), busy = temporal_any(device, TEMPORAL_ALL);
    int64_t active = device->last - device->first, compute = temporal_any(device, TEMPORAL_COMPUTE);
    const struct line lines[] = {
        {run - busy, run, EVENT_NONE, 0, "idle", "idle"},
        {active - busy, active, EVENT_NONE, 0, "active-idle", "idle, from the first to the last operation"},
        {compute, active, EVENT_NONE, 0, "active-compute", "computing, from the first to the last operation"},
        {busy - compute, active, EVENT_NONE, 0, "active-other", "not computing, from the first to the last operation"},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const struct line line = {.total = temporal_any(device, kinds[i].kind),
                                  .whole = run,
                                  .alone = temporal_alone(device, kinds[i].kind),
                                  .word = kinds[i].word,
                                  .text = kinds[i].text};
        if (add(row, number, &line) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (add(row, number, &lines[i]) < 0)
            return -1;
    return 0;
}

static int finish(struct report_row *row)
{
    const struct temporal *temporal = row->state;
    for (size_t i = 0; i < temporal->devices.count; i++)
        if (temporal->devices.items[i].used && add_device(row, i, &temporal->devices.items[i]) < 0)
            return -1;
    return 0;
}

const struct section section_temporal = {
    SECTION_COLUMNS(columns),
    .listing = true,
    .headed = true,
    .state_size = sizeof(struct temporal),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK,
    .timeline = true,
    .gather = gather,
    .finish = finish,
    .release = release,
};
