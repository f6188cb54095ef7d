/*
 * Where the time goes: what the GPU that works most did in a step, or in the run, and why it was idle. The parts add up
 * to the whole, and findings say the same times in the same words.
 */
#include "analysis/base/cost_sum.h"
#include "analysis/findings/findings.h"
#include "analysis/idle/idle.h"
#include "analysis/model/section.h"
#include "analysis/model/temporal.h"

/* What a GPU did, as parts that do not overlap: what is hidden by something above it does not count. */
enum { COMPUTING, COMMUNICATION, COPIES, LOADING, CAUSES, PART_COUNT = CAUSES + IDLE_CAUSE_COUNT };

struct part {
    unsigned number;
    int64_t ns, whole; /* of a step, or of the run */
};

static const struct idle_cause_words *words_of(const struct part *part)
{
    static const struct idle_cause_words own[] = {
        [COMPUTING] = {"computing", "computing"},
        [COMMUNICATION] = {"communication", "communication that nothing hides"},
        [COPIES] = {"copies", "copies and sets that nothing hides"},
        [LOADING] = {"loading", "waiting for the DataLoader"},
    };
    return part->number < CAUSES ? &own[part->number] : &idle_cause_words[part->number - CAUSES];
}

static struct cell fill_word(struct report_row *row, const struct column *column)
{
    return table_text(row->table, words_of(row->item)->word);
}

static struct cell fill_text(struct report_row *row, const struct column *column)
{
    return table_text(row->table, trace_said(row->trace, words_of(row->item)->text).text);
}

static struct cell fill_part_share(struct report_row *row, const struct column *column)
{
    const struct part *part = row->item;
    return cell_share(part->ns, part->whole);
}

static const struct column columns[] = {
    {"cause", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_word},
    {"time", "Time", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(part, ns)},
    {"share", "Share", TYPE_PERCENT, COLUMN_SUM, .fill = fill_part_share},
    {"part", "What", TYPE_TEXT, 0, .fill = fill_text},
};

/* What each GPU ran of the window, as a struct temporal has it. */
static int find_busy(struct temporal *busy, const struct trace *trace, const struct findings_window *window)
{
    struct temporal_names names = {0};
    struct temporal_lane lane = {0};
    struct sorter_walk walk;
    const struct timeline_op *op;
    int64_t device = EVENT_NONE;
    int status = 0;
    sorter_walk_begin(&walk, &trace->timeline);
    while (status == 0 && (op = sorter_next(&walk))) {
        struct timeline_op part = *op;
        part.start = op->start > window->from ? op->start : window->from;
        part.end = op->end < window->to ? op->end : window->to;
        if (part.end <= part.start)
            continue;
        unsigned kind = temporal_kind(&names, trace, op);
        status = kind ? 0 : -1;
        if (status == 0 && op->device != device) {
            if (lane.to)
                temporal_lane_end(&lane);
            lane.to = NULL;
            device = op->device;
            struct temporal_device *to = array_at(&busy->devices, op->device);
            status = to ? 0 : -1;
            if (to)
                temporal_lane_begin(&lane, to, &part);
        }
        if (status == 0)
            temporal_lane_add(&lane, kind, &part);
    }
    if (lane.to)
        temporal_lane_end(&lane);
    array_release(&names.communication);
    return sorter_walk_end(&walk) ?: status;
}

static void add_causes(struct part *parts, const struct trace *trace, const struct idle *idle, size_t device)
{
    if (!idle || device >= idle->devices.count)
        return;
    for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++)
        parts[CAUSES + i].ns = idle->devices.items[device].causes[i].total;
    for (const struct idle_row *row = idle_first_row(&idle->rows, device); row; row = idle_next_row(&idle->rows, row)) {
        bool edge = row->what.cause == IDLE_BEFORE || row->what.cause == IDLE_AFTER;
        if (!edge && idle_is_loading(trace, &row->what)) {
            sum_add(&parts[LOADING].ns, row->sum.total);
            sum_add(&parts[CAUSES + row->what.cause].ns, -row->sum.total);
        }
    }
}

static int add_rows(struct report_row *row, struct part *parts, int64_t steps)
{
    int64_t whole = 0;
    for (unsigned i = 0; i < PART_COUNT; i++)
        sum_add(&whole, parts[i].ns);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        parts[i].number = i;
        parts[i].ns /= steps > 0 ? steps : 1;
        parts[i].whole = whole / (steps > 0 ? steps : 1);
        if (parts[i].ns > 0 && section_row(row, NULL, &parts[i]) < 0)
            return -1;
    }
    return 0;
}

static int finish(struct report_row *row)
{
    const struct trace *trace = row->trace;
    const struct findings *findings = findings_of(trace);
    struct temporal busy = {0};
    struct part parts[PART_COUNT] = {0};
    size_t most = 0;
    int status = findings ? find_busy(&busy, trace, &findings->window) : -1;
    for (size_t i = 1; i < busy.devices.count; i++)
        if (temporal_any(&busy.devices.items[i], TEMPORAL_ALL) > temporal_any(&busy.devices.items[most], TEMPORAL_ALL))
            most = i;
    if (status == 0 && busy.devices.count > 0) {
        const struct temporal_device *device = &busy.devices.items[most];
        int64_t all = temporal_any(device, TEMPORAL_ALL);
        int64_t kernels = temporal_any(device, TEMPORAL_COMPUTE | TEMPORAL_COMMUNICATION);
        parts[COMPUTING].ns = temporal_any(device, TEMPORAL_COMPUTE);
        parts[COMMUNICATION].ns = kernels - parts[COMPUTING].ns;
        parts[COPIES].ns = all - kernels;
        add_causes(parts, trace, findings->idle, most);
        if (findings->window.steps > 0)
            row->table->title = "Where a step goes";
        status = add_rows(row, parts, findings->window.steps);
    }
    array_release(&busy.devices);
    return status;
}

const struct section section_time = {
    SECTION_COLUMNS(columns),
    .comparable = {.noun = "time", .keys = {"part"}, .total = "time", .floor = FLOOR_HOST},
    .sort = "time",
    .usual = 5,
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .timeline = true,
    .needs = REPORT_BIT(REPORT_FINDINGS),
    .finish = finish,
};
