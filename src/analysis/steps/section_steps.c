/* Sections of the steps of the program: a row for each process with steps; and what differs in the slowest step. */
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"
#include "analysis/steps/steps.h"

struct step_row {
    struct series times;
    struct cell name, thread, process, gpu, launches, number;
    int64_t slowest_at;
};

static void finish(struct report_row *row)
{
    const struct steps *steps = row->state;
    for (size_t i = 0; i < steps->processes.count; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        const event_id *id = dense_map_row(&row->trace->process_ids, process->process);
        const char *name =
            process->name == EVENT_NO_TEXT ? STEPS_OF_OPERATIONS : interned(&steps->names, process->name);
        int64_t gpu = 0, launches = 0, count = (int64_t)process->items.count;
        for (size_t k = 0; k < process->items.count; k++) {
            sum_add(&gpu, process->items.items[k].gpu);
            launches += process->items.items[k].launches;
        }
        const struct step_row item = {
            .times = process->times,
            .name = table_format(row->table, "%s%s", name, process->to_next ? " (to the next)" : ""),
            .thread = trace_thread_cell(row->trace, row->table, process->thread),
            .process =
                row->trace->host_processes > 1 ? trace_process_cell(row->trace, row->table, *id) : (struct cell){0},
            .gpu = count ? cell_real((double)gpu / (double)count) : (struct cell){0},
            .launches = count ? cell_real((double)launches / (double)count) : (struct cell){0},
            .number = count ? cell_integer(process->items.items[process->slowest].number) : (struct cell){0},
            .slowest_at = count ? process->items.items[process->slowest].start : FIELD_ABSENT,
        };
        section_row(row, NULL, &item);
    }
}

static const struct column columns[] = {
    {"count", "Count", TYPE_COUNT, 0, fill_count, FROM_ITEM(step_row, times)},
    COLUMNS_SUMMARY("", TYPE_NS, step_row, times),
    {"gpu", "GPU avg", TYPE_NS, 0, fill_cell, FROM_ITEM(step_row, gpu)},
    {"launches", "Launches avg", TYPE_NUMBER, 0, fill_cell, FROM_ITEM(step_row, launches)},
    {"slowest", "Slowest", TYPE_COUNT, 0, fill_cell, FROM_ITEM(step_row, number)},
    {"slowest_at", "At", TYPE_NS, COLUMN_APART, fill_time, FROM_ITEM(step_row, slowest_at)},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(step_row, process)},
    {"thread", "Thread", TYPE_TEXT, 0, fill_cell, FROM_ITEM(step_row, thread)},
    {"name", "Name", TYPE_TEXT, 0, fill_cell, FROM_ITEM(step_row, name)},
};

const struct section section_steps = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct steps),
    .indexes = {.calls = true, .ranges = true, .launched_ops = true, .host_calls = true},
    .gather = steps_gather,
    .finish = finish,
    .release = steps_release,
};

/* --- what differs in the slowest --- */

struct work_row {
    int64_t difference, average, slowest, average_count, slowest_count;
    struct cell what, name, process;
};

static void finish_works(struct report_row *row)
{
    const struct steps *steps = section_state(row->trace, REPORT_STEPS);
    for (size_t i = 0; i < steps->works.count; i++) {
        static const char *const words[] = {
            [STEP_KERNEL] = "kernel", [STEP_COPY] = "copy", [STEP_CALL] = "call", [STEP_OUTSIDE] = "host"};
        const struct step_work_key *key = dense_map_row(&steps->work_keys, i);
        const struct step_work *work = &steps->works.items[i];
        const struct steps_process *process = &steps->processes.items[key->process];
        int64_t difference = step_work_difference(process, work), others = (int64_t)process->items.count - 1;
        if (difference == 0 || others < 1)
            continue;
        const event_id *id = dense_map_row(&row->trace->process_ids, process->process);
        const struct work_row item = {
            .difference = difference,
            .average = (work->total - work->slowest) / others,
            .slowest = work->slowest,
            .average_count = (work->count - work->slowest_count) / others,
            .slowest_count = key->kind == STEP_OUTSIDE ? 1 : work->slowest_count,
            .what = table_text(row->table, words[key->kind]),
            .name = key->kind == STEP_OUTSIDE ? table_text(row->table, "(outside API calls)")
                                              : trace_text_cell(row->trace, row->table, (uint32_t)key->name),
            .process =
                row->trace->host_processes > 1 ? trace_process_cell(row->trace, row->table, *id) : (struct cell){0},
        };
        section_row(row, NULL, &item);
    }
}

static const struct column work_columns[] = {
    {"difference", "Difference", TYPE_NS, 0, fill_number, FROM_ITEM(work_row, difference)},
    {"slowest", "Slowest", TYPE_NS, 0, fill_number, FROM_ITEM(work_row, slowest)},
    {"average", "Others avg", TYPE_NS, 0, fill_number, FROM_ITEM(work_row, average)},
    {"slowest_count", "Count", TYPE_COUNT, 0, fill_number, FROM_ITEM(work_row, slowest_count)},
    {"average_count", "Others avg", TYPE_COUNT, 0, fill_number, FROM_ITEM(work_row, average_count)},
    {"kind", "Kind", TYPE_TEXT, 0, fill_cell, FROM_ITEM(work_row, what)},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(work_row, process)},
    {"name", "Name", TYPE_TEXT, 0, fill_cell, FROM_ITEM(work_row, name)},
};

const struct section section_step_parts = {
    SECTION_COLUMNS(work_columns),
    .sort = "difference",
    .needs = REPORT_BIT(REPORT_STEPS),
    .finish = finish_works,
};
