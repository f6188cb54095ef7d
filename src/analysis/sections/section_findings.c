/*
 * The findings: runs all rules over the trace, puts what they found in order, and says where it was.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/settings.h"
#include "analysis/findings/findings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/base/order.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_gaps.h"
#include "analysis/model/filter.h"
#include "analysis/model/section.h"

struct state {
    struct findings findings;
    bool has_window;          /* findings.window and findings.idle are found */
    struct idle idle;         /* of the window, if that is not the whole trace */
    int64_t waits, last_call; /* ns that calls waited for a GPU; the end of the last call */
    int64_t called;           /* ns of all calls */
    void *states[FINDING_RULE_COUNT];
    struct wanting {
        unsigned char rules[FINDING_RULE_COUNT], count;
    } of_category[CATEGORY_COUNT], of_call[CALL_KIND_COUNT]; /* the rules that want such events */
    struct wanting_op {
        int (*op)(void *state, const struct trace *trace, const struct timeline_op *op);
        void *state;
    } of_op[FINDING_RULE_COUNT]; /* most rules want these */
    unsigned of_op_count;
    struct dense_map stacks; /* struct named_stack: how many calls or operations of the name had the stack */
    ARRAY(int64_t) stack_counts;
};

#define KINDS_SHOWN 8

struct named_stack { /* as a struct python_call */
    uint64_t name;
    int64_t stack;
};

static void add_wanting(struct wanting *wanting, size_t rule)
{
    wanting->rules[wanting->count++] = (unsigned char)rule;
}

static void init(void *context, const struct trace *trace)
{
    struct state *state = context;
    state->findings = (struct findings){.trace = trace};
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++) {
        state->states[i] = finding_rules[i]->state_size ? calloc(1, finding_rules[i]->state_size) : NULL;
        state->findings.no_memory |= finding_rules[i]->state_size && !state->states[i];
        for (unsigned category = 0; finding_rules[i]->event && category < CATEGORY_COUNT; category++)
            if (category_in(category, finding_rules[i]->categories))
                add_wanting(&state->of_category[category], i);
        for (unsigned kind = 0; finding_rules[i]->call && kind < CALL_KIND_COUNT; kind++)
            if (finding_rules[i]->calls & CALL_KIND_BIT(kind))
                add_wanting(&state->of_call[kind], i);
        if (finding_rules[i]->op)
            state->of_op[state->of_op_count++] = (struct wanting_op){finding_rules[i]->op, state->states[i]};
    }
}

static void release(void *context)
{
    struct state *state = context;
    idle_release(&state->idle);
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++) {
        if (state->states[i] && finding_rules[i]->release)
            finding_rules[i]->release(state->states[i]);
        free(state->states[i]);
    }
    array_release(&state->findings.items);
    dense_map_release(&state->stacks);
    array_release(&state->stack_counts);
}

static int count_stack(struct state *state, const struct event_fields *event)
{
    const struct named_stack key = {event->name, event->stack};
    int64_t *count = dense_map_item(&state->stacks, &key, &state->stack_counts);
    if (count)
        ++*count;
    return count ? 0 : -1;
}

static int event(void *context, const struct trace *trace, const struct event_fields *event)
{
    struct state *state = context;
    const struct wanting *wanting = &state->of_category[event->category];
    if (state->findings.no_memory || (event->stack != EVENT_NONE && count_stack(state, event) < 0))
        return -1;
    for (unsigned i = 0; i < wanting->count; i++) {
        unsigned rule = wanting->rules[i];
        if (finding_rules[rule]->event(state->states[rule], trace, event) < 0)
            return -1;
    }
    return 0;
}

/* --- operations and calls --- */

static void widen_run(struct findings *findings, int64_t from, int64_t to)
{
    bool any = findings->from != EVENT_NONE;
    findings->from = !any || from < findings->from ? from : findings->from;
    findings->to = !any || to > findings->to ? to : findings->to;
}

/* Asynchronous copies of pageable memory wait, too, and launches where too many are queued: a call that takes so long.
 */
#define LONG_CALL_NS 50000

static int show_calls(struct state *state, const struct trace *trace)
{
    struct host_calls_walk walk;
    const struct host_call *call;
    int status = 0;
    host_calls_walk_begin(&walk, &trace->host_calls);
    while (status == 0 && (call = host_calls_next(&walk))) {
        bool waits = call_kind_waits((enum call_kind)call->kind) ||
                     (call_kind_launches((enum call_kind)call->kind) && call->end - call->start > LONG_CALL_NS);
        if (waits && __builtin_add_overflow(state->waits, call->end - call->start, &state->waits))
            state->waits = INT64_MAX;
        state->last_call = call->end > state->last_call ? call->end : state->last_call;
        sum_add(&state->called, call->end - call->start);
        const struct wanting *wanting = &state->of_call[call->kind];
        for (unsigned i = 0; i < wanting->count && status == 0; i++) {
            unsigned rule = wanting->rules[i];
            status = finding_rules[rule]->call(state->states[rule], trace, call);
        }
    }
    return host_calls_walk_end(&walk) ?: status;
}

static int gather(void *context, const struct trace *trace)
{
    struct state *state = context;
    state->findings.from = state->findings.to = state->last_call = EVENT_NONE;
    for (size_t i = 0; i < trace->python_sums.count; i++) {
        const struct named_stack *key = dense_map_row(&trace->python_calls, i);
        int64_t *count = dense_map_item(&state->stacks, key, &state->stack_counts);
        if (!count)
            return -1;
        *count += trace->python_sums.items[i].count;
    }
    int status = state->findings.no_memory ? -1 : show_calls(state, trace);
    if (status == 0) {
        struct sorter_walk walk;
        const struct timeline_op *op;
        sorter_walk_begin(&walk, &trace->timeline);
        while (status == 0 && (op = sorter_next(&walk))) {
            widen_run(&state->findings, op->called != EVENT_NONE && op->called < op->start ? op->called : op->start,
                      op->end);
            for (unsigned i = 0; i < state->of_op_count && status == 0; i++)
                status = state->of_op[i].op(state->of_op[i].state, trace, op);
        }
        status = sorter_walk_end(&walk) ?: status;
    }
    struct findings *findings = &state->findings;
    findings->run = findings->from == EVENT_NONE ? 0 : findings->to - findings->from;
    bool any_call = state->last_call != EVENT_NONE;
    findings->waits = any_call && findings->to > state->last_call ? findings->to - state->last_call : 0;
    if (!any_call || __builtin_add_overflow(findings->waits, state->waits, &findings->waits) ||
        findings->waits > findings->run)
        findings->waits = findings->run;
    return status;
}

/* --- the ranges around the places --- */

static int by_walked_and_call(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    return ORDER(a->walked, b->walked) ?: ORDER(a->place.called, b->place.called);
}

static int by_cost(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    /* What warming up takes says nothing about the steps of a long run. */
    return ORDER(b->rule->urgent, a->rule->urgent) ?: ORDER(a->rule->without_cost, b->rule->without_cost)
               ?: ORDER(a->early, b->early)
               ?: ORDER(b->weight, a->weight) ?: ORDER(a->number, b->number);
}

/* Sets of each finding the field AT, if the rule has not, to the name of the innermost of RANGES around its call on the
 * thread `walked`. */
static int find_ranges(struct findings *findings, const struct ranges *ranges, size_t at)
{
    struct range_walk walk;
    if (findings->items.count > 1)
        qsort(findings->items.items, findings->items.count, sizeof(struct finding), by_walked_and_call);
    range_walk_begin(&walk, ranges, false);
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *finding = &findings->items.items[i];
        int64_t called = finding->place.called;
        uint32_t *name = (uint32_t *)((char *)finding + at);
        if (finding->walked == LAUNCHED_NO_THREAD)
            continue;
        while (range_walk_open(&walk, finding->walked, called))
            ;
        const struct range_open *found = range_walk_innermost(&walk, finding->walked, called);
        if (found && *name == EVENT_NO_TEXT)
            *name = found->range.name;
    }
    return range_walk_end(&walk);
}

/* The thread of the process of THREAD that runs main(). LAUNCHED_NO_THREAD: it is not in the trace. */
static uint32_t main_thread(const struct trace *trace, uint32_t thread)
{
    uint32_t process = trace->threads.items[thread].process;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        const struct trace_thread_id *id = dense_map_row(&trace->thread_ids, i);
        if (trace->threads.items[i].process == process && id->thread == id->process)
            return i;
    }
    return LAUNCHED_NO_THREAD;
}

/* Threads such as those of PyTorch's backward pass have no ranges: they work for the range of the main thread. */
static int find_main_ranges(struct findings *findings)
{
    bool any = false;
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *finding = &findings->items.items[i];
        bool lacks = finding->range == EVENT_NO_TEXT && finding->place.thread != LAUNCHED_NO_THREAD;
        finding->walked = lacks ? main_thread(findings->trace, finding->place.thread) : LAUNCHED_NO_THREAD;
        any |= finding->walked != LAUNCHED_NO_THREAD;
    }
    return any ? find_ranges(findings, &findings->trace->ranges, offsetof(struct finding, range)) : 0;
}

int64_t findings_stack(const void *context, uint32_t name)
{
    const struct state *state = context;
    int64_t most = 0, stack = EVENT_NONE;
    for (size_t k = 0; k < state->stack_counts.count; k++) {
        const struct named_stack *key = dense_map_row(&state->stacks, k);
        if (key->name == name && state->stack_counts.items[k] > most) {
            most = state->stack_counts.items[k];
            stack = key->stack;
        }
    }
    return stack;
}

static int find_places(struct state *state)
{
    struct findings *findings = &state->findings;
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *finding = &findings->items.items[i];
        struct finding_place *place = &finding->place;
        finding->walked = place->thread;
        if (place->stack == EVENT_NONE && place->name != EVENT_NO_TEXT)
            place->stack = findings_stack(state, place->name);
        place->called = place->called == EVENT_NONE ? place->time : place->called;
        if (place->device == EVENT_NONE && place->stream != EVENT_NONE)
            place->device = findings->trace->streams.items[place->stream].device;
    }
    return find_ranges(findings, &findings->trace->operators, offsetof(struct finding, operation))
               ?: find_ranges(findings, &findings->trace->ranges, offsetof(struct finding, range))
               ?: find_main_ranges(findings);
}

/* --- the table --- */

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

static const struct column columns[] = {
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

/* Findings that say more behind a colon have it on a line of its own, and the time behind their first words, which are
 * not many. */
#define TITLE_MOST 64

/* For people: of what is idle in steps, the time of one step. */
static struct cell heading_of(struct table *table, const struct findings *findings, const struct finding *finding)
{
    const struct trace *trace = findings->trace;
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
    return table_format(table, "%.*s: %s%s%s\n%c%s", (int)(colon - finding->text), finding->text, time.text, of, more,
                        word ? toupper(colon[2]) : colon[2], colon + 3);
}

static struct cell title_of(struct table *table, const struct findings *findings, const struct finding *finding)
{
    const struct trace *trace = findings->trace;
    int64_t run = trace_span(trace);
    if (trace->options->format == REPORT_TABLE || trace->options->format == REPORT_MARKDOWN)
        return heading_of(table, findings, finding);
    if (finding->cost <= 0)
        return table_text(table, finding->text);
    struct amount cost = amount_time(finding->cost), share = amount_share(finding->cost, run);
    if (finding->gain <= 0)
        return table_format(table, "%s (%s, %s of the run)", finding->text, cost.text, share.text);
    return table_format(table, "%s (%s, %s of the run; up to %s can be gained)", finding->text, cost.text, share.text,
                        amount_time(finding->gain).text);
}

/* PLACE: the program's line; "": not known. Then stream and thread are of no use. */
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
    if (place->time != EVENT_NONE) {
        buffer_format(out, "%s%s%s", gap, *gap ? "at " : "", amount_time(place->time - trace->start).text);
        gap = ", ";
    }
    int64_t device = place->device == EVENT_NONE ? EVENT_NONE : trace_device_id(trace, (size_t)place->device);
    int64_t stream = place->stream == EVENT_NONE ? EVENT_NONE : trace_stream_id(trace, (size_t)place->stream)->stream;
    if (device != EVENT_NONE) {
        buffer_format(out, "%sGPU %lld", gap, (long long)device);
        gap = ", ";
    }
    if (stream != EVENT_NONE && !*program) {
        buffer_format(out, "%sstream %lld", gap, (long long)stream);
        gap = ", ";
    }
    if (*thread && !*program)
        buffer_format(out, "%s%s", gap, thread);
}

static int show(struct report_row *row, const struct findings *findings, const struct finding *finding)
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
    cells[ADVICE] = table_text(table, trace_said(trace, *finding->advice ? finding->advice : advice).text);
    cells[MORE] = finding->rule->section ? table_text(table, finding->rule->section) : (struct cell){0};
    cells[AT] = cell_integer(place->time == EVENT_NONE ? EVENT_NONE : place->time - trace->start);
    if (place->device != EVENT_NONE)
        cells[GPU] = cell_integer(trace_device_id(trace, (size_t)place->device));
    if (place->stream != EVENT_NONE)
        cells[STREAM] = cell_integer(trace_stream_id(trace, (size_t)place->stream)->stream);
    if (place->thread != LAUNCHED_NO_THREAD)
        cells[THREAD] = trace_thread_cell(trace, table, place->thread);
    cells[RANGE] = trace_text_cell(trace, table, finding->range);
    cells[OPERATOR] = trace_text_cell(trace, table, finding->operation);
    if (!trace->options->usual) /* the first screen has the place alone */
        cells[STACK] = trace_callers_cell(trace, table, place->stack);
    buffer_init_memory(&where);
    struct cell program = trace_place_cell(trace, table, place->stack);
    write_where(&where, trace, finding, program.kind == CELL_TEXT ? table_cell_text(table, &program) : "",
                cells[THREAD].kind == CELL_TEXT ? table_cell_text(table, &cells[THREAD]) : "");
    cells[WHERE] = table_sink(table, &where);
    return 0;
}

static bool is_blind(const struct rule *rule, const struct trace *trace)
{
    bool blind = false;
    for (size_t i = 0; i < sizeof(rule->sources) / sizeof(*rule->sources); i++)
        blind |= rule->sources[i] && !(rule->sources[i] & ~trace->unrecorded);
    return blind;
}

/* "Not checked: small-copies (memcpy was not recorded)". A trace without GPU operations has no use for that. */
static int show_blind(struct report_row *row)
{
    struct buffer text;
    uint64_t missing = 0;
    size_t count = 0;
    char words[TABLE_MISSING];
    buffer_init_memory(&text);
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++) {
        if (!is_blind(finding_rules[i], row->trace))
            continue;
        buffer_format(&text, "%s%s", count++ ? ", " : "Not enough data for ", finding_rules[i]->id);
        missing |= finding_rules[i]->sources[0] | finding_rules[i]->sources[1];
    }
    trace_bit_words(missing & row->trace->unrecorded, words, sizeof(words));
    buffer_format(&text, ": %s %s not recorded", words, strchr(words, ',') ? "were" : "was");
    struct cell *cells = count > 0 ? table_row(row->table) : NULL;
    if (cells) {
        cells[ID] = table_text(row->table, "not-checked");
        cells[TEXT] = table_sink(row->table, &text);
        cells[ADVICE] = table_text(row->table, "Record it with --trace to have it checked.");
    } else
        buffer_release(&text);
    return count > 0 && !cells ? -1 : 0;
}

/* A trace of another profiler of which nothing is known to be a GPU's: who looks at it should not think that GPUs were
 * idle. */
static int show_unknown(struct report_row *row)
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
    buffer_format(&text, "%s events, none known as GPU work; kinds found: ", amount_count((int64_t)trace->events).text);
    /* What slices there are: "python_function (12), other (3)". */
    const char *gap = "";
    for (unsigned i = CATEGORY_OTHER + 1; i < CATEGORY_COUNT; i++) {
        if (trace->counts[i] == 0)
            continue;
        buffer_format(&text, "%s%s (%s)", gap, category_words[i].text, amount_count((int64_t)trace->counts[i]).text);
        gap = ", ";
    }
    for (size_t i = 0; i < trace->kinds.count && i < KINDS_SHOWN; i++) {
        uint32_t kind = (uint32_t) * (const uint64_t *)dense_map_row(&trace->kind_ids, i);
        const char *word = kind == EVENT_NO_TEXT ? "without a category" : finding_name(trace, kind).text;
        buffer_format(&text, "%s%s (%s)", gap, word, amount_count((int64_t)trace->kinds.items[i]).text);
        gap = ", ";
    }
    if (trace->kinds.count > KINDS_SHOWN)
        buffer_format(&text, ", and %zu more", trace->kinds.count - KINDS_SHOWN);
    else if (!*gap)
        buffer_text(&text, "none that takes time");
    cells[ID] = table_text(row->table, "no-gpu-work");
    cells[TEXT] = table_sink(row->table, &text);
    cells[ADVICE] = table_text(row->table, "Kernels, copies and sets are known by their categories, kernel, gpu_memcpy "
                                           "and gpu_memset, or by the names of GPU rows: gputrace-findings(7).");
    return 0;
}

static void *state_of(struct state *state, const struct rule *rule)
{
    const struct rule *owner = rule->state_of ? rule->state_of : rule;
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++)
        if (finding_rules[i] == owner)
            return state->states[i];
    return NULL;
}

/* The warm-up is a finding of its own: others are about the rest. */
static int prepare(struct state *state)
{
    struct findings *findings = &state->findings;
    if (state->has_window)
        return 0;
    state->has_window = true;
    find_warm_up(findings);
    find_window(findings);
    findings->idle = section_state(findings->trace, REPORT_IDLE);
    if (findings->window.from == INT64_MIN || !findings->idle || !findings->idle->gaps)
        return 0;
    int status = idle_gaps_again(findings->idle->gaps, &state->idle, findings->trace, findings->window.from,
                                 findings->window.to);
    findings->idle = &state->idle;
    return status;
}

const struct findings *findings_of(const struct trace *trace)
{
    struct state *state = (struct state *)section_state(trace, REPORT_FINDINGS); /* as sections finish one by one */
    return prepare(state) == 0 && !state->findings.no_memory ? &state->findings : NULL;
}

/* The GPU that works most; SIZE_MAX: nothing ran on one. */
static size_t busiest(const struct trace *trace)
{
    size_t most = SIZE_MAX;
    for (size_t i = 0; i < trace->devices.count; i++)
        if (trace->devices.items[i].used &&
            (most == SIZE_MAX || trace->devices.items[i].busy.total > trace->devices.items[most].busy.total))
            most = i;
    return most;
}

/* "; idle longest: 110 of 127 ms, before the first work": the largest cause, with the range that most of it is in. */
static void write_longest(struct buffer *out, const struct trace *trace, const struct idle *idle, size_t device)
{
    const struct idle_sum *causes = idle->devices.items[device].causes;
    const struct idle_row *most = NULL;
    unsigned cause = 0;
    for (unsigned i = 1; i < IDLE_CAUSE_COUNT; i++)
        cause = causes[i].total > causes[cause].total ? i : cause;
    for (const struct idle_row *one = idle_first_row(&idle->rows, device); one; one = idle_next_row(&idle->rows, one))
        if (one->what.cause == cause && (!most || one->sum.total > most->sum.total))
            most = one;
    if (causes[cause].total > 0 && cause == IDLE_UNKNOWN)
        buffer_text(out, "; no calls are recorded, so why it is idle is not known");
    else if (causes[cause].total > 0)
        buffer_format(out, "; idle longest: %s, %s", amount_part(causes[cause].total, trace_span(trace)).text,
                      trace_said(trace, idle_cause_words[cause].text).text);
    if (most && cause == IDLE_OUTSIDE && most->what.range != EVENT_NO_TEXT)
        buffer_format(out, ", in range %s", finding_name(trace, most->what.range).text);
}

/* Where no rule speaks: what the GPU that works most was idle for longest. */
static void say_none(struct report_row *row, const struct idle *idle)
{
    const struct trace *trace = row->trace;
    size_t device = busiest(trace);
    struct buffer text;
    buffer_init_memory(&text);
    if (device == SIZE_MAX)
        buffer_format(&text, "No rule finds a fault. Nothing ran on a GPU; threads were in %s for %s, in a run of %s",
                      trace_said(trace, "CUDA calls").text,
                      amount_time(((const struct state *)row->state)->called).text,
                      amount_time(trace_span(trace)).text);
    else
        buffer_format(&text, "No rule finds a fault. The GPU is busy %s of the time",
                      amount_share(trace->devices.items[device].busy.total, trace_span(trace)).text);
    if (idle && device < idle->devices.count)
        write_longest(&text, trace, idle, device);
    buffer_char(&text, '.');
    struct cell cell = table_sink(row->table, &text);
    if (cell.kind == CELL_TEXT)
        row->table->none = table_cell_text(row->table, &cell);
}

static void find_idled(struct findings *findings)
{
    int64_t least = findings->run;
    for (size_t i = 0; i < findings->trace->devices.count; i++) {
        const struct trace_device *device = &findings->trace->devices.items[i];
        least = device->used && device->busy.total < least ? device->busy.total : least;
    }
    findings->idled = findings->run - least;
}

static int finish(struct report_row *row)
{
    struct state *state = row->state;
    struct findings *findings = &state->findings;
    int status = prepare(state);
    find_idled(findings);
    for (size_t i = 0; i < FINDING_RULE_COUNT && status == 0; i++) {
        findings->rule = finding_rules[i];
        if (!is_blind(finding_rules[i], findings->trace) && finding_rules[i]->find)
            status = finding_rules[i]->find(state_of(state, finding_rules[i]), findings);
    }
    status = findings->no_memory ? -1 : status;
    if (status == 0)
        status = find_places(state);
    if (status == 0)
        status = show_unknown(row);
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *finding = &findings->items.items[i];
        bool before = findings->window.steps > 0 && finding->place.time != EVENT_NONE &&
                      finding->place.time < findings->window.from;
        finding->early = before || finding->rule == &rule_warm_up;
    }
    if (findings->items.count > 1)
        qsort(findings->items.items, findings->items.count, sizeof(struct finding), by_cost);
    findings_share_idle(findings);
    for (size_t i = 0; i < findings->items.count && i < FINDING_MOST && status == 0; i++)
        status = show(row, findings, &findings->items.items[i]);
    if (status == 0 && findings->items.count == 0)
        say_none(row, section_state(row->trace, REPORT_IDLE));
    return status || row->trace->options->usual ? status : show_blind(row);
}

bool findings_include(const void *context, const char *ids)
{
    const struct state *state = context;
    for (size_t length; *ids; ids += length + (ids[length] == ',')) {
        length = strcspn(ids, ",");
        const struct rule *rule = finding_rule(ids, length);
        bool any = length == strlen("any") && strncmp(ids, "any", length) == 0;
        for (size_t i = 0; i < state->findings.items.count; i++)
            if (any || state->findings.items.items[i].rule == rule)
                return true;
    }
    return false;
}

const struct section section_findings = {
    SECTION_COLUMNS(columns),
    .usual = 3,
    .listing = true,
    .paragraphs = true,
    .none = "nothing found: no rule of gputrace-findings(7) applies",
    .comparable = {.noun = "finding", .keys = {"id"}, .total = "time", .floor = FLOOR_HOST},
    .state_size = sizeof(struct state),
    .categories = ~0u,
    .stacks = true,
    .ranges = true,
    .operators = true,
    .timeline = true,
    .host_calls = true,
    .needs = REPORT_BIT(REPORT_IDLE) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_HANG),
    .init = init,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
