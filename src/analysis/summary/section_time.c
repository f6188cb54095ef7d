/*
 * Where the time goes: what the GPU that works most did in a step, or in the run, and why it was idle. The parts add up
 * to the whole, and findings say the same times in the same words.
 */
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/idle/idle.h"
#include "analysis/engine/section.h"
#include "analysis/gpu/temporal.h"
#include "analysis/summary/section_findings.h"

/* What a GPU did, as parts that do not overlap: time that belongs to several parts counts for the first of them. */
enum { COMPUTING, COMMUNICATION, COPIES, LOADING, CAUSES, PART_COUNT = CAUSES + IDLE_CAUSE_COUNT };

struct time_share {
    int64_t ns; /* of a step, or of the run */
    struct cell word, text, share;
};

static const struct column columns[] = {
    {"cause", "Word", TYPE_TEXT, COLUMN_MACHINE, fill_cell, FROM_ITEM(time_share, word)},
    {"time", "Time", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(time_share, ns)},
    {"share", "Share", TYPE_PERCENT, COLUMN_SUM, fill_cell, FROM_ITEM(time_share, share)},
    {"part", "What", TYPE_TEXT, 0, fill_cell, FROM_ITEM(time_share, text)},
};

static void add_causes(struct time_share *parts, const struct trace *trace, const struct idle *idle, size_t device)
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

static void add_rows(struct report_row *row, struct time_share *parts, int64_t steps)
{
    static const struct idle_cause_words own[] = {
        [COMPUTING] = {"computing", "computing"},
        [COMMUNICATION] = {"communication", "communication that nothing hides"},
        [COPIES] = {"copies", "copies and sets that nothing hides"},
        [LOADING] = {"loading", "waiting for the DataLoader"},
    };
    int64_t whole = 0;
    for (unsigned i = 0; i < PART_COUNT; i++)
        sum_add(&whole, parts[i].ns);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        const struct idle_cause_words *words = i < CAUSES ? &own[i] : &idle_cause_words[i - CAUSES];
        parts[i].ns /= steps > 0 ? steps : 1;
        parts[i].share = cell_share(parts[i].ns, whole / (steps > 0 ? steps : 1));
        parts[i].word = table_text(row->table, words->word);
        parts[i].text = row_phrase(row, words->text);
        if (parts[i].ns > 0)
            section_row(row, NULL, &parts[i]);
    }
}

static void finish(struct report_row *row)
{
    const struct trace *trace = row->trace;
    const struct findings *findings = findings_of(trace);
    struct temporal busy = {0};
    struct time_share parts[PART_COUNT] = {0};
    size_t most = 0;
    int status = findings ? temporal_gather(&busy, trace, findings->window.from, findings->window.to) : -1;
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
        add_rows(row, parts, findings->window.steps);
    }
    array_release(&busy.devices);
    row->table->no_memory |= status < 0;
}

const struct section section_time = {
    SECTION_COLUMNS(columns),
    .comparable = {.noun = "time", .keys = {"part"}, .total = "time", .floor = FLOOR_HOST},
    .sort = "time",
    .usual = 5,
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_FINDINGS),
    .finish = finish,
};
