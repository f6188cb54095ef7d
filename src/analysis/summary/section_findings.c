/* Runs all rules over the trace, sorts their findings, and adds the range, operator and call stack of each finding. */
#include "analysis/summary/section_findings.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/findings.h"
#include "analysis/base/cost_sum.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_gaps.h"
#include "analysis/engine/section.h"
#include "analysis/steps/rules_steps.h"
#include "analysis/summary/findings_table.h"

struct judgement {
    struct findings findings;
    bool has_window;          /* findings.window and findings.idle are set */
    struct idle idle;         /* of the window; unused if the window is the whole trace */
    int64_t waits, last_call; /* ns in which calls waited for a GPU; the end of the last call */
    struct called called;
    void *states[FINDING_RULE_COUNT];
    struct wanting {
        unsigned char rules[FINDING_RULE_COUNT], count;
    } of_category[CATEGORY_COUNT], of_call[CALL_KIND_COUNT]; /* the rules that read such events or calls */
    struct wanting_op {
        int (*op)(void *state, const struct trace *trace, const struct timeline_op *op);
        void *state;
    } of_op[FINDING_RULE_COUNT]; /* the rules that read operations */
    unsigned of_op_count;
};

static void init(void *context, const struct trace *trace)
{
    struct judgement *judgement = context;
    judgement->findings = (struct findings){.trace = trace};
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++) {
        judgement->states[i] = finding_rules[i]->state_size ? calloc(1, finding_rules[i]->state_size) : NULL;
        judgement->findings.no_memory |= finding_rules[i]->state_size && !judgement->states[i];
        for (unsigned category = 0; finding_rules[i]->event && category < CATEGORY_COUNT; category++)
            if (category_in(category, finding_rules[i]->categories))
                judgement->of_category[category].rules[judgement->of_category[category].count++] = (unsigned char)i;
        for (unsigned kind = 0; finding_rules[i]->call && kind < CALL_KIND_COUNT; kind++)
            if (finding_rules[i]->calls & CALL_KIND_BIT(kind))
                judgement->of_call[kind].rules[judgement->of_call[kind].count++] = (unsigned char)i;
        if (finding_rules[i]->op)
            judgement->of_op[judgement->of_op_count++] =
                (struct wanting_op){finding_rules[i]->op, judgement->states[i]};
    }
}

static void release(void *context)
{
    struct judgement *judgement = context;
    idle_release(&judgement->idle);
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++) {
        if (judgement->states[i] && finding_rules[i]->release)
            finding_rules[i]->release(judgement->states[i]);
        free(judgement->states[i]);
    }
    array_release(&judgement->findings.items);
    dense_map_release(&judgement->findings.stacks);
    array_release(&judgement->findings.stack_counts);
    array_release(&judgement->called.by_name);
}

static int event(void *context, const struct trace *trace, const struct event_fields *event)
{
    struct judgement *judgement = context;
    const struct wanting *wanting = &judgement->of_category[event->category];
    struct findings *findings = &judgement->findings;
    if (event->stack != FIELD_ABSENT) {
        const struct named_stack key = {event->name, event->stack};
        struct stack_count *known = dense_map_item(&findings->stacks, &key, &findings->stack_counts);
        if (!known)
            return -1;
        known->count++;
        known->last = event->start > known->last ? event->start : known->last;
    }
    if (findings->no_memory)
        return -1;
    for (unsigned i = 0; i < wanting->count; i++) {
        unsigned rule = wanting->rules[i];
        if (finding_rules[rule]->event(judgement->states[rule], trace, event) < 0)
            return -1;
    }
    return 0;
}

/* --- operations and calls --- */

/* A launching call that takes longer than this also waits, because it copies pageable memory or too many launches are
 * queued. */
#define LONG_CALL_NS 50000

static int show_call(struct judgement *judgement, const struct trace *trace, const struct host_call *call)
{
    bool waits = call_kind_waits((enum call_kind)call->kind) ||
                 (call_kind_launches((enum call_kind)call->kind) && call->end - call->start > LONG_CALL_NS);
    sum_add(&judgement->waits, waits ? call->end - call->start : 0);
    judgement->last_call = call->end > judgement->last_call ? call->end : judgement->last_call;
    int64_t *called = array_at(&judgement->called.by_name, call->name);
    if (!called)
        return -1;
    sum_add(called, call->end - call->start);
    const struct wanting *wanting = &judgement->of_call[call->kind];
    int status = 0;
    for (unsigned i = 0; i < wanting->count && status == 0; i++) {
        unsigned rule = wanting->rules[i];
        status = finding_rules[rule]->call(judgement->states[rule], trace, call);
    }
    return status;
}

static int show_op(struct judgement *judgement, const struct trace *trace, const struct timeline_op *op)
{
    struct findings *findings = &judgement->findings;
    int64_t from = op->called != FIELD_ABSENT && op->called < op->start ? op->called : op->start;
    bool any = findings->from != FIELD_ABSENT;
    int status = 0;
    findings->from = !any || from < findings->from ? from : findings->from;
    findings->to = !any || op->end > findings->to ? op->end : findings->to;
    for (unsigned i = 0; i < judgement->of_op_count && status == 0; i++)
        status = judgement->of_op[i].op(judgement->of_op[i].state, trace, op);
    return status;
}

static int gather(void *context, const struct trace *trace)
{
    struct judgement *judgement = context;
    struct findings *findings = &judgement->findings;
    findings->from = findings->to = judgement->last_call = FIELD_ABSENT;
    for (size_t i = 0; i < trace->python_sums.count; i++) {
        const struct named_stack *key = dense_map_row(&trace->python_calls, i);
        struct stack_count *known = dense_map_item(&findings->stacks, key, &findings->stack_counts);
        if (!known)
            return -1;
        known->count += trace->python_sums.items[i].count;
        known->last = INT64_MAX;
    }
    const struct host_call *call;
    const struct timeline_op *op;
    int status =
        findings->no_memory ? -1 : HOST_CALLS_EACH(&trace->host_calls, call, show_call(judgement, trace, call));
    status = status ?: SORTER_EACH(&trace->timeline, op, show_op(judgement, trace, op));
    findings->run = findings->from == FIELD_ABSENT ? 0 : findings->to - findings->from;
    bool any_call = judgement->last_call != FIELD_ABSENT;
    findings->waits = any_call && findings->to > judgement->last_call ? findings->to - judgement->last_call : 0;
    if (!any_call || __builtin_add_overflow(findings->waits, judgement->waits, &findings->waits) ||
        findings->waits > findings->run)
        findings->waits = findings->run;
    return status;
}

/* --- the ranges around the places --- */

ORDER_BY(by_walked_and_call, struct finding, walked, place.called)

static int by_cost(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    /* Findings about the warm-up come last, because it does not matter for a long run. */
    return ORDER(b->rule->urgent, a->rule->urgent) ?: ORDER(a->rule->without_cost, b->rule->without_cost)
               ?: ORDER(a->early, b->early)
               ?: ORDER(b->weight, a->weight) ?: ORDER(a->number, b->number);
}

/* Sets the field at offset AT of each finding, unless its rule has set it, to the name of the innermost of RANGES
 * around place.called on thread `walked`. Returns 0, or -1: no memory, or after error(). */
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

/* Returns the main thread of the process of THREAD, or LAUNCHED_NO_THREAD if it is not in the trace. */
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

/* Sets the missing ranges of findings to those of the main thread, because threads without ranges, such as those of
 * PyTorch's backward pass, work for it. Returns 0, or -1: no memory, or after error(). */
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

static int find_places(struct judgement *judgement)
{
    struct findings *findings = &judgement->findings;
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *finding = &findings->items.items[i];
        struct finding_place *place = &finding->place;
        finding->walked = place->thread;
        if (place->stack == FIELD_ABSENT && place->name != EVENT_NO_TEXT)
            place->stack = findings_stack(findings, place->name);
        place->called = place->called == FIELD_ABSENT ? place->time : place->called;
        if (place->device == FIELD_ABSENT && place->stream != FIELD_ABSENT)
            place->device = findings->trace->streams.items[place->stream].device;
    }
    return find_ranges(findings, &findings->trace->operators, offsetof(struct finding, operation))
               ?: find_ranges(findings, &findings->trace->ranges, offsetof(struct finding, range))
               ?: find_main_ranges(findings);
}

/* --- rules --- */

static void *state_of(struct judgement *judgement, const struct rule *rule)
{
    const struct rule *owner = rule->state_of ? rule->state_of : rule;
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++)
        if (finding_rules[i] == owner)
            return judgement->states[i];
    return NULL;
}

/* Sets the warm-up, the window and the idle time in it, at the first call. Returns 0, or -1: no memory, or after
 * error(). */
static int prepare(struct judgement *judgement)
{
    struct findings *findings = &judgement->findings;
    if (judgement->has_window)
        return 0;
    judgement->has_window = true;
    warm_up_find_time(findings);
    warm_up_find_window(findings);
    findings->idle = section_state(findings->trace, REPORT_IDLE);
    if (findings->window.from == INT64_MIN || !findings->idle || !findings->idle->gaps)
        return 0;
    int status = idle_gaps_again(findings->idle->gaps, &judgement->idle, findings->trace, findings->window.from,
                                 findings->window.to);
    findings->idle = &judgement->idle;
    return status;
}

const struct findings *findings_of(const struct trace *trace)
{
    /* The state may be changed, because sections finish one by one and no other section reads it now. */
    struct judgement *judgement = (struct judgement *)section_state(trace, REPORT_FINDINGS);
    return prepare(judgement) == 0 && !judgement->findings.no_memory ? &judgement->findings : NULL;
}

static void finish(struct report_row *row)
{
    struct judgement *judgement = row->state;
    struct findings *findings = &judgement->findings;
    int status = prepare(judgement);
    int64_t least = findings->run; /* the least ns that a GPU was busy */
    for (size_t i = 0; i < findings->trace->devices.count; i++) {
        const struct trace_device *device = &findings->trace->devices.items[i];
        least = device->used && device->busy.total < least ? device->busy.total : least;
    }
    findings->idled = findings->run - least;
    for (size_t i = 0; i < FINDING_RULE_COUNT && status == 0; i++) {
        findings->rule = finding_rules[i];
        if (!findings_is_blind(finding_rules[i], findings->trace) && finding_rules[i]->find)
            status = finding_rules[i]->find(state_of(judgement, finding_rules[i]), findings);
    }
    status = findings->no_memory ? -1 : status;
    status = status ?: find_places(judgement);
    status = status ?: findings_show_unknown(row);
    for (size_t i = 0; i < findings->items.count; i++) {
        struct finding *finding = &findings->items.items[i];
        bool before = findings->window.steps > 0 && finding->place.time != FIELD_ABSENT &&
                      finding->place.time < findings->window.from;
        finding->early = before || finding->rule == &rule_warm_up ? 1 + (finding->gain == 0) : 0;
    }
    if (findings->items.count > 1)
        qsort(findings->items.items, findings->items.count, sizeof(struct finding), by_cost);
    findings_share_idle(findings);
    for (size_t i = 0; i < findings->items.count && i < FINDING_MOST && status == 0; i++)
        status = findings_show(row, findings, &findings->items.items[i]);
    if (status == 0 && findings->items.count == 0)
        findings_show_none(row, section_state(row->trace, REPORT_IDLE), &judgement->called);
    if (status == 0 && !row->trace->options->usual)
        status = findings_show_blind(row);
    row->table->no_memory |= status < 0;
}

const struct section section_findings = {
    SECTION_COLUMNS(findings_columns),
    .usual = 3,
    .listing = true,
    .paragraphs = true,
    .none = "nothing found: no rule of gputrace-findings(7) applies",
    .comparable = {.noun = "finding", .keys = {"id"}, .total = "time", .floor = FLOOR_HOST},
    .state_size = sizeof(struct judgement),
    .categories = ~0u,
    .indexes = {.stacks = true, .ranges = true, .operators = true, .timeline = true, .host_calls = true},
    .needs = REPORT_BIT(REPORT_IDLE) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_HANG),
    .init = init,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
