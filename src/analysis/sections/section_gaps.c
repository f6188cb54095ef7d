/*
 * The largest gaps of idle time (idle.h), with the operations before and after.
 */
#include "common/buffer.h"
#include "analysis/idle/idle.h"
#include "analysis/model/section.h"

static struct cell fill_length(struct report_row *row, const struct column *column)
{
    const struct idle_gap *gap = row->item;
    return cell_integer(gap->end - gap->start);
}

static struct cell fill_gap_gpu(struct report_row *row, const struct column *column)
{
    return cell_integer(trace_device_id(row->trace, (size_t)row_integer(row, column)));
}

static struct cell fill_main_cause(struct report_row *row, const struct column *column)
{
    const struct idle_cause_words *words = &idle_cause_words[idle_main_part(row->item)->what.cause];
    if (column->flags & COLUMN_MACHINE)
        return table_text(row->table, words->word);
    return table_text(row->table, trace_said(row->trace, words->text).text);
}

static struct cell fill_main_share(struct report_row *row, const struct column *column)
{
    const struct idle_gap *gap = row->item;
    return cell_share(idle_main_part(gap)->total, gap->end - gap->start);
}

/* A name of the main part. */
static struct cell fill_main_name(struct report_row *row, const struct column *column)
{
    const char *what = (const char *)&idle_main_part(row->item)->what;
    return trace_text_cell(row->trace, row->table, *(const uint32_t *)(const void *)(what + column->at));
}

static struct cell fill_neighbour_stream(struct report_row *row, const struct column *column)
{
    int64_t stream = row_integer(row, column);
    return stream == EVENT_NO_TEXT ? (struct cell){0}
                                   : cell_integer(trace_stream_id(row->trace, (size_t)stream)->stream);
}

/* What the host did outside of calls. */
static struct cell fill_host(struct report_row *row, const struct column *column)
{
    const struct idle *idle = section_state(row->trace, REPORT_IDLE);
    const struct idle_gap *gap = row->item;
    struct buffer text;
    if (gap->activity == EVENT_NO_TEXT)
        return (struct cell){0};
    buffer_init_memory(&text);
    host_activity_write(&text, &idle->host, gap->activity);
    return table_sink(row->table, &text);
}

static struct cell fill_thread(struct report_row *row, const struct column *column)
{
    int64_t thread = row_integer(row, column);
    return thread == LAUNCHED_NO_THREAD ? (struct cell){0}
                                        : trace_thread_cell(row->trace, row->table, (uint32_t)thread);
}

static const struct column gap_columns[] = {
    {"length", "Length", TYPE_NS, COLUMN_APART, .fill = fill_length},
    {"start", "Start", TYPE_NS, COLUMN_APART, fill_time, FROM_ITEM(idle_gap, start)},
    {"gpu", "GPU", TYPE_NUMBER, 0, fill_gap_gpu, FROM_ITEM(idle_gap, device)},
    {"cause", "Word", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_main_cause},
    {"why", "Mostly", TYPE_TEXT, 0, .fill = fill_main_cause},
    {"share", "Of gap", TYPE_PERCENT, 0, .fill = fill_main_share},
    {"call", "Call", TYPE_TEXT, COLUMN_OPTIONAL, fill_main_name, FROM_ITEM(idle_what, call)},
    {"range", "Range", TYPE_TEXT, COLUMN_OPTIONAL, fill_main_name, FROM_ITEM(idle_what, range)},
    {"operator", "Operator", TYPE_TEXT, COLUMN_OPTIONAL, fill_main_name, FROM_ITEM(idle_what, operation)},
    {"host", "Host", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_host},
    {"thread", "Thread", TYPE_TEXT, COLUMN_OPTIONAL, fill_thread, FROM_ITEM(idle_gap, thread)},
    {"stream_before", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_neighbour_stream,
     FROM_ITEM(idle_gap, before.stream)},
    {"before", "After", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(idle_gap, before.name)},
    {"stream_after", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_neighbour_stream, FROM_ITEM(idle_gap, after.stream)},
    {"after", "Before", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(idle_gap, after.name)},
};

static int finish_gaps(struct report_row *row)
{
    const struct idle *idle = section_state(row->trace, REPORT_IDLE);
    for (size_t i = 0; i < idle->largest_count; i++)
        if (section_row(row, NULL, &idle->largest[i]) < 0)
            return -1;
    return 0;
}

const struct section section_gaps = {
    SECTION_COLUMNS(gap_columns),        .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API, .sort = "length",
    .needs = REPORT_BIT(REPORT_IDLE),    .finish = finish_gaps,
};
