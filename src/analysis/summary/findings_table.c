/* Writes the table of findings, with a row for each finding, and the first line of a report. */
#include "analysis/summary/findings_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"
#include "analysis/idle/idle.h"
#include "analysis/selection/filter.h"
#include "trace/frames.h"

#define KINDS_SHOWN 8 /* the most kinds of events that are listed if the trace has no GPU work */

enum column_number {
    ID,
    TEXT,
    COST,
    SHARE,
    GAIN,
    GAIN_SHARE,
    COUNT,
    ADVICE,
    WHERE,
    MORE,
    AT,
    GPU,
    STREAM,
    THREAD,
    RANGE,
    OPERATOR,
    STACK
};

const struct column findings_columns[FINDINGS_COLUMNS] = {
    [ID] = {"id", "Id", TYPE_TEXT, COLUMN_MACHINE | COLUMN_TAG},
    [TEXT] = {"finding", "Finding", TYPE_TEXT},
    [COST] = {"time", "Time", TYPE_NS, COLUMN_MACHINE},
    [SHARE] = {"share", "Share", TYPE_PERCENT, COLUMN_MACHINE},
    [GAIN] = {"gain", "Gain", TYPE_NS, COLUMN_MACHINE},
    [GAIN_SHARE] = {"gain_share", "Gain share", TYPE_PERCENT, COLUMN_MACHINE},
    [COUNT] = {"count", "Count", TYPE_COUNT, COLUMN_MACHINE},
    [ADVICE] = {"advice", "Do", TYPE_TEXT},
    [WHERE] = {"where", "At", TYPE_TEXT, COLUMN_OPTIONAL},
    [MORE] = {"section", "More", TYPE_TEXT, COLUMN_MACHINE | COLUMN_TAG},
    [AT] = {"start", "Start", TYPE_NS, COLUMN_MACHINE},
    [GPU] = {"gpu", "GPU", TYPE_NUMBER, COLUMN_MACHINE},
    [STREAM] = {"stream", "Stream", TYPE_NUMBER, COLUMN_MACHINE},
    [THREAD] = {"thread", "Thread", TYPE_TEXT, COLUMN_MACHINE},
    [RANGE] = {"range", "Range", TYPE_TEXT, COLUMN_MACHINE},
    [OPERATOR] = {"operator", "Operator", TYPE_TEXT, COLUMN_MACHINE},
    [STACK] = {"stack", "Call stack", TYPE_TEXT, COLUMN_OPTIONAL},
};

/* If a sentence has a colon within its first TITLE_MOST bytes, the text behind the colon is on a line of its own, and
 * the time follows the text before the colon. */
#define TITLE_MOST 64

static struct cell title_of(struct table *table, const struct findings *findings, const struct finding *finding)
{
    const struct trace *trace = findings->trace;
    int64_t run = trace_span(trace);
    if (trace->options->format == REPORT_TABLE || trace->options->format == REPORT_MARKDOWN) {
        /* In formats for people, findings about idle time show the time per step, if there are steps. */
        int64_t steps = finding->rule->of_idle ? findings->window.steps : 0, parts = steps > 0 ? steps : 1;
        int64_t whole = steps > 0 ? findings->window.to - findings->window.from : trace_span(trace);
        struct amount time = amount_part(finding->cost / parts, whole / parts);
        struct amount gain = amount_time(finding->gain / parts);
        bool gains = finding->gain > 0 && strcmp(gain.text, amount_time(finding->cost / parts).text) != 0;
        const char *colon = strstr(finding->text, ": "), *of = steps > 0 ? " of a step" : "";
        char more[96] = "";
        if (finding->cost <= 0)
            return table_text(table, finding->text);
        size_t length = gains ? (size_t)snprintf(more, sizeof(more), "; up to %s can be gained", gain.text) : 0;
        if (finding->same_as)
            snprintf(more + length, sizeof(more) - length, "; %sthe same time as %zu", gains ? "else " : "",
                     finding->same_as);
        if (!colon || colon - finding->text > TITLE_MOST)
            return table_format(table, "%s (%s%s%s)", finding->text, time.text, of, more);
        bool word = strcspn(colon + 2, " ,") == strspn(colon + 2, "abcdefghijklmnopqrstuvwxyz");
        return table_format(table, "%.*s: %s%s%s\n%c%s", (int)(colon - finding->text), finding->text, time.text, of,
                            more, word ? toupper(colon[2]) : colon[2], colon + 3);
    }
    if (finding->cost <= 0)
        return table_text(table, finding->text);
    struct amount cost = amount_time(finding->cost), share = amount_share(finding->cost, run);
    if (finding->gain <= 0)
        return table_format(table, "%s (%s, %s of the run)", finding->text, cost.text, share.text);
    return table_format(table, "%s (%s, %s of the run; up to %s can be gained)", finding->text, cost.text, share.text,
                        amount_time(finding->gain).text);
}

/* Writes the place of a finding. PROGRAM is the line of the program ("": not known); if it is known, stream and thread
 * are left out. */
static void write_where(struct buffer *out, const struct trace *trace, const struct finding *finding,
                        const char *program, const char *thread)
{
    const struct finding_place *place = &finding->place;
    const char *gap = *program ? ", " : "";
    buffer_text(out, program);
    if (finding->range != EVENT_NO_TEXT) {
        buffer_format(out, "%srange %s", gap, finding_name(trace, finding->range).text);
        gap = ", ";
    }
    if (finding->operation != EVENT_NO_TEXT) {
        buffer_format(out, "%soperator %s", gap, finding_name(trace, finding->operation).text);
        gap = ", ";
    }
    if (place->time != FIELD_ABSENT) {
        buffer_format(out, "%s%s%s", gap, *gap ? "at " : "", amount_time(place->time - trace->start).text);
        gap = ", ";
    }
    int64_t device = place->device == FIELD_ABSENT ? FIELD_ABSENT : trace_device_id(trace, (size_t)place->device);
    int64_t stream =
        place->stream == FIELD_ABSENT ? FIELD_ABSENT : trace_stream_id(trace, (size_t)place->stream)->stream;
    if (device != FIELD_ABSENT) {
        buffer_format(out, "%sGPU %lld", gap, (long long)device);
        gap = ", ";
    }
    if (stream != FIELD_ABSENT && !*program) {
        buffer_format(out, "%sstream %lld", gap, (long long)stream);
        gap = ", ";
    }
    if (*thread && !*program)
        buffer_format(out, "%s%s", gap, thread);
}

int findings_show(struct report_row *row, const struct findings *findings, const struct finding *finding)
{
    const struct trace *trace = row->trace;
    struct table *table = row->table;
    const struct finding_place *place = &finding->place;
    struct cell *cells = table_row(table);
    struct buffer where;
    if (!cells)
        return -1;
    cells[ID] = table_text(table, finding->rule->id);
    cells[TEXT] = title_of(table, findings, finding);
    cells[COST] = cell_integer(finding->cost);
    cells[SHARE] = cell_share(finding->cost, trace_span(findings->trace));
    if (finding->gain > 0) {
        cells[GAIN] = cell_integer(finding->gain);
        cells[GAIN_SHARE] = cell_share(finding->gain, trace_span(findings->trace));
    }
    cells[COUNT] = cell_integer(finding->count);
    const char *advice = finding->rule->advice ? finding->rule->advice : "";
    cells[ADVICE] = table_text(table, trace_phrase(trace, *finding->advice ? finding->advice : advice).text);
    cells[MORE] = finding->rule->section ? table_text(table, finding->rule->section) : (struct cell){0};
    cells[AT] = cell_integer(place->time == FIELD_ABSENT ? FIELD_ABSENT : place->time - trace->start);
    if (place->device != FIELD_ABSENT)
        cells[GPU] = cell_integer(trace_device_id(trace, (size_t)place->device));
    if (place->stream != FIELD_ABSENT)
        cells[STREAM] = cell_integer(trace_stream_id(trace, (size_t)place->stream)->stream);
    if (place->thread != LAUNCHED_NO_THREAD)
        cells[THREAD] = trace_thread_cell(trace, table, place->thread);
    cells[RANGE] = trace_text_cell(trace, table, finding->range);
    cells[OPERATOR] = trace_text_cell(trace, table, finding->operation);
    if (!trace->options->usual) /* the first screen shows only the place */
        cells[STACK] = trace_callers_cell(trace, table, place->stack);
    buffer_init_memory(&where);
    struct cell program = trace_place_cell(trace, table, place->stack);
    write_where(&where, trace, finding, program.kind == CELL_TEXT ? table_cell_text(table, &program) : "",
                cells[THREAD].kind == CELL_TEXT ? table_cell_text(table, &cells[THREAD]) : "");
    cells[WHERE] = table_text_from_buffer(table, &where);
    return 0;
}

bool findings_is_blind(const struct rule *rule, const struct trace *trace)
{
    bool blind = false;
    for (size_t i = 0; i < sizeof(rule->sources) / sizeof(*rule->sources); i++)
        blind |= rule->sources[i] && !(rule->sources[i] & ~trace->unrecorded);
    return blind;
}

/* Adds the row "Not enough data for small-copies: memcpy was not recorded", if there are such rules. Returns 0, or -1:
 * no memory. */
int findings_show_blind(struct report_row *row)
{
    struct buffer text;
    uint64_t missing = 0;
    size_t count = 0;
    char words[TABLE_MISSING];
    buffer_init_memory(&text);
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++) {
        if (!findings_is_blind(finding_rules[i], row->trace))
            continue;
        buffer_format(&text, "%s%s", count++ ? ", " : "Not enough data for ", finding_rules[i]->id);
        missing |= finding_rules[i]->sources[0] | finding_rules[i]->sources[1];
    }
    trace_bit_words(missing & row->trace->unrecorded, words, sizeof(words));
    buffer_format(&text, ": %s %s not recorded", words, strchr(words, ',') ? "were" : "was");
    struct cell *cells = count > 0 ? table_row(row->table) : NULL;
    if (cells) {
        cells[ID] = table_text(row->table, "not-checked");
        cells[TEXT] = table_text_from_buffer(row->table, &text);
        cells[ADVICE] = table_text(row->table, "Record it with --trace to have it checked.");
    } else
        buffer_release(&text);
    return count > 0 && !cells ? -1 : 0;
}

/* Adds a row for a trace of another profiler in which no event is known as GPU work, so that readers do not think that
 * the GPUs were idle. Returns 0, or -1: no memory. */
int findings_show_unknown(struct report_row *row)
{
    const struct trace *trace = row->trace;
    struct buffer text;
    if (trace->version != EVENT_NO_TEXT || trace->streams.count > 0 || trace->events == 0 ||
        filter_wanted(&trace->options->filter))
        return 0;
    struct cell *cells = table_row(row->table);
    if (!cells)
        return -1;
    buffer_init_memory(&text);
    buffer_format(&text, "%s, none known as GPU work; kinds found: ", text_count(trace->events, "event").text);
    /* List the kinds of slices: "python_function (12), other (3)". */
    const char *gap = "";
    for (unsigned i = CATEGORY_OTHER + 1; i < CATEGORY_COUNT; i++) {
        if (trace->counts[i] == 0)
            continue;
        buffer_format(&text, "%s%s (%s)", gap, category_words[i].text, amount_count((int64_t)trace->counts[i]).text);
        gap = ", ";
    }
    for (size_t i = 0; i < trace->kinds.count && i < KINDS_SHOWN; i++) {
        uint32_t kind = (uint32_t)*(const uint64_t *)dense_map_row(&trace->kind_ids, i);
        const char *word = kind == EVENT_NO_TEXT ? "without a category" : finding_name(trace, kind).text;
        buffer_format(&text, "%s%s (%s)", gap, word, amount_count((int64_t)trace->kinds.items[i]).text);
        gap = ", ";
    }
    if (trace->kinds.count > KINDS_SHOWN)
        buffer_format(&text, ", and %zu more", trace->kinds.count - KINDS_SHOWN);
    else if (!*gap)
        buffer_text(&text, "none that takes time");
    cells[ID] = table_text(row->table, "no-gpu-work");
    cells[TEXT] = table_text_from_buffer(row->table, &text);
    cells[ADVICE] = table_text(row->table, "Kernels, copies and sets are known by their categories, kernel, gpu_memcpy "
                                           "and gpu_memset, or by the names of GPU rows: gputrace-findings(7).");
    return 0;
}

void findings_show_none(struct report_row *row, const struct idle *idle, const struct called *called)
{
    const struct trace *trace = row->trace;
    const struct trace_device *devices = trace->devices.items;
    size_t device = SIZE_MAX; /* the busiest GPU; SIZE_MAX: nothing ran on a GPU */
    for (size_t i = 0; i < trace->devices.count; i++)
        if (devices[i].used && (device == SIZE_MAX || devices[i].busy.total > devices[device].busy.total))
            device = i;
    struct buffer text;
    buffer_init_memory(&text);
    if (device == SIZE_MAX) {
        buffer_format(&text, "No rule finds a fault. Nothing ran on a GPU in %s", amount_time(trace_span(trace)).text);
        /* Sum the time of threads in calls, and find the function with most time. */
        int64_t total = 0;
        size_t most = 0;
        for (size_t i = 0; i < called->by_name.count; i++) {
            sum_add(&total, called->by_name.items[i]);
            most = called->by_name.items[i] > called->by_name.items[most] ? i : most;
        }
        buffer_format(&text, "; threads were in %s for %s", trace_phrase(trace, "CUDA calls").text,
                      amount_time(total).text);
        if (total > 0)
            buffer_format(&text, ", %s of it in %s()", amount_time(called->by_name.items[most]).text,
                          interned(&trace->strings, (uint32_t)most));
    } else
        buffer_format(&text, "No rule finds a fault. The GPU is busy %s of the time",
                      amount_share(trace->devices.items[device].busy.total, trace_span(trace)).text);
    if (idle && device < idle->devices.count) {
        /* Append the largest cause, and the range with most of its time: "; idle longest: 110 of 127 ms, before the
         * first work". */
        const struct idle_sum *causes = idle->devices.items[device].causes;
        const struct idle_row *most = NULL;
        unsigned cause = 0;
        for (unsigned i = 1; i < IDLE_CAUSE_COUNT; i++)
            cause = causes[i].total > causes[cause].total ? i : cause;
        for (const struct idle_row *one = idle_first_row(&idle->rows, device); one;
             one = idle_next_row(&idle->rows, one))
            if (one->what.cause == cause && (!most || one->sum.total > most->sum.total))
                most = one;
        if (causes[cause].total > 0 && cause == IDLE_UNKNOWN)
            buffer_text(&text, "; no calls are recorded, so why it is idle is not known");
        else if (causes[cause].total > 0)
            buffer_format(&text, "; idle longest: %s, %s", amount_part(causes[cause].total, trace_span(trace)).text,
                          trace_phrase(trace, idle_cause_words[cause].text).text);
        if (most && cause == IDLE_OUTSIDE && most->what.range != EVENT_NO_TEXT)
            buffer_format(&text, ", in range %s", finding_name(trace, most->what.range).text);
    }
    buffer_char(&text, '.');
    struct cell cell = table_text_from_buffer(row->table, &text);
    if (cell.kind == CELL_TEXT)
        row->table->none = table_cell_text(row->table, &cell);
}

/* --- the first line of a report: the program, the GPUs, the time, the steps, the filter and the losses, with dots
 * between --- */

#define GAP " · "
#define PROGRAM_MOST 60 /* the most bytes of the program that are shown, so that the figures stay in sight */

/* Writes the GPUs ("2 × H100 80GB HBM3"), the time span, how the program ended, and the average share of time in
 * which the GPUs were busy. */
static void write_gpus(struct buffer *out, const struct trace *trace)
{
    static const char maker[] = "NVIDIA ";
    const char *name = "";
    int64_t count = 0, busy = 0;
    for (size_t i = 0; i < trace->devices.count; i++) {
        const struct trace_device *device = &trace->devices.items[i];
        if (!device->used)
            continue;
        const char *own = trace_text(trace, device->name);
        own += strncmp(own, maker, strlen(maker)) == 0 ? strlen(maker) : 0;
        name = count == 0 ? own : strcmp(own, name) == 0 ? name : "different GPUs";
        busy += device->busy.total / 1000; /* in µs, so that the sum does not overflow */
        count++;
    }
    if (count > 1)
        buffer_format(out, GAP "%s × %s", amount_count(count).text, *name ? name : "GPU");
    else if (*name)
        buffer_format(out, GAP "%s", name);
    buffer_format(out, GAP "%s", amount_time(trace_span(trace)).text);
    if (trace->ending != EVENT_NO_TEXT)
        buffer_format(out, ", %s", trace_text(trace, trace->ending));
    if (count > 0)
        buffer_format(out, GAP "GPU%s busy %s", count > 1 ? "s" : "",
                      amount_share(busy / count, trace_span(trace) / 1000).text);
    else
        buffer_text(out, GAP "no GPU work");
}

int findings_headline(struct buffer *line, const struct findings *findings, const char *path)
{
    const struct trace *trace = findings->trace;
    const char *program = trace->program == EVENT_NO_TEXT ? frame_base_name(path) : trace_text(trace, trace->program);
    /* Of "/opt/app/run --fast", show "run --fast". */
    const char *slash = memrchr(program, '/', strcspn(program, " "));
    if (*program == '/')
        program = slash + 1;
    size_t length = utf8_cut(program, strlen(program), PROGRAM_MOST);
    buffer_bytes(line, program, length);
    buffer_text(line, program[length] ? "…" : "");
    write_gpus(line, trace);
    if (findings->window.steps > 0)
        buffer_format(line, GAP "%s of %s", text_count((uint64_t)findings->window.steps, "step").text,
                      amount_mean(findings->window.to - findings->window.from, findings->window.steps).text);
    if (filter_wanted(&trace->options->filter)) {
        buffer_text(line, GAP "only");
        filter_write(line, &trace->options->filter);
    }
    for (size_t i = 0; i < trace->losses.count; i++)
        buffer_format(line, GAP "lost or doubtful: %s %s", amount_count(trace->losses.items[i].count).text,
                      trace_text(trace, trace->losses.items[i].name));
    buffer_char(line, '\0');
    return buffer_finish(line) == 0 ? 0 : -1;
}
