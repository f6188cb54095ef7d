/* Adds findings whose cost is worth showing, shares idle time among them, and formats the values in their sentences. */
#include "analysis/engine/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "analysis/base/cost_sum.h"
#include "analysis/base/value_text.h"
#include "analysis/engine/trace_known.h"
#include "analysis/names/name_facts.h"

const struct rule *const finding_rules[] = {
#define RULE(name) &rule_##name,
    FINDING_RULES(RULE)
#undef RULE
};

/* --- what rules call --- */

struct finding_place place_none(void)
{
    return (struct finding_place){.time = FIELD_ABSENT,
                                  .until = FIELD_ABSENT,
                                  .stream = FIELD_ABSENT,
                                  .device = FIELD_ABSENT,
                                  .thread = LAUNCHED_NO_THREAD,
                                  .called = FIELD_ABSENT,
                                  .name = EVENT_NO_TEXT,
                                  .stack = FIELD_ABSENT};
}

struct finding_place finding_at_op(const struct timeline_op *op)
{
    struct finding_place place = place_none();
    place.time = op->start;
    place.until = op->end;
    place.stream = op->stream;
    place.device = op->device;
    place.thread = op->thread;
    place.called = op->called;
    place.name = op->name;
    return place;
}

struct finding_place finding_at_time(uint32_t thread, int64_t from, int64_t until)
{
    struct finding_place place = place_none();
    place.time = place.called = from;
    place.until = until;
    place.thread = thread;
    return place;
}

bool offences_add(struct offences *offences, const struct finding_place *place, int64_t ns)
{
    uint32_t device = (uint32_t)place->device;
    offences->last = *place;
    if (device != offences->device) {
        offences->most = offences_cost(offences);
        offences->sum = 0;
        offences->device = device;
    }
    sum_add(&offences->sum, ns);
    if (offences->count++ > 0 && ns <= offences->worst_ns)
        return false;
    offences->worst_ns = ns;
    offences->worst = *place;
    return true;
}

void offences_add_op(struct offences *offences, const struct timeline_op *op, int64_t ns)
{
    const struct finding_place place = finding_at_op(op);
    offences_add(offences, &place, ns);
}

int64_t offences_cost(const struct offences *offences)
{
    return offences->sum > offences->most ? offences->sum : offences->most;
}

const struct finding_place *offences_place(const struct findings *findings, const struct offences *offences)
{
    bool later = offences->worst.time < findings->window.from && offences->last.time >= findings->window.from;
    return later ? &offences->last : &offences->worst;
}

struct finding *finding_add(struct findings *findings, int64_t cost, int64_t gain, int64_t count,
                            const struct finding_place *place)
{
    cost = cost > findings->run ? findings->run : cost;
    /* A finding in the warm-up must cost a share of the whole run, other findings a share of the run without the
     * warm-up. */
    int64_t whole = place && findings_in_warm_up(findings, place->time) ? findings->run : findings->steady;
    if (!findings->rule->without_cost && (cost < FINDING_COST_NS || cost < whole / 100 * FINDING_COST_PERCENT))
        return NULL;
    struct finding *finding = array_push(&findings->items);
    findings->no_memory |= !finding;
    if (!finding)
        return NULL;
    finding->trace = findings->trace;
    finding->rule = findings->rule;
    finding->cost = finding->weight = cost;
    finding->gain = gain > cost ? cost : gain;
    if (findings->rule->of_gpu && finding->gain > findings->waits)
        finding->gain = findings->waits;
    if (findings->rule->of_host && finding->gain > findings->idled)
        finding->gain = findings->idled;
    finding->count = count;
    finding->place = place ? *place : place_none();
    finding->range = finding->operation = EVENT_NO_TEXT;
    finding->number = (unsigned)findings->items.count;
    return finding;
}

struct finding *finding_of(struct findings *findings, const struct offences *offences, int64_t gain)
{
    return finding_add(findings, offences_cost(offences), gain, offences->count, offences_place(findings, offences));
}

void findings_share_idle(struct findings *findings)
{
    struct finding *items = findings->items.items;
    int64_t left = findings->idled;
    size_t largest = SIZE_MAX; /* index of the earlier finding with the largest gain; SIZE_MAX: none */
    for (size_t i = 0; i < findings->items.count; i++) {
        const struct rule *rule = items[i].rule;
        if (!rule->of_host && !rule->of_idle)
            continue;
        /* A finding that shares idle time with an earlier one gains only what the earlier one does not. */
        for (size_t k = 0; k < i; k++)
            if (rule->part_of == items[k].rule || items[k].rule->part_of == rule) {
                items[i].same_as = k + 1;
                items[i].gain = items[i].gain > items[k].gain ? items[i].gain - items[k].gain : 0;
            }
        if (items[i].gain > left && largest != SIZE_MAX) {
            items[i].same_as = largest + 1;
            items[i].gain = left > 0 ? left : 0;
        }
        left -= items[i].gain < left ? items[i].gain : left;
        if (largest == SIZE_MAX || items[i].gain > items[largest].gain)
            largest = i;
    }
}

#define FORMAT_FIELD(field, words)                                      \
    va_list args;                                                       \
    va_start(args, format);                                             \
    if (finding)                                                        \
        vsnprintf(finding->field, sizeof(finding->field), words, args); \
    va_end(args);                                                       \
    return 0

int finding_format(struct finding *finding, const char *format, ...)
{
    FORMAT_FIELD(text, trace_phrase(finding->trace, format).text);
}

int finding_advise(struct finding *finding, const char *format, ...)
{
    FORMAT_FIELD(advice, format);
}

int64_t findings_stack(const struct findings *findings, uint32_t name)
{
    int64_t most = 0, stack = FIELD_ABSENT;
    bool steady = false; /* stacks that occur in the window are preferred to stacks of the warm-up */
    for (size_t k = 0; k < findings->stack_counts.count; k++) {
        const struct named_stack *key = dense_map_row(&findings->stacks, k);
        const struct stack_count *known = &findings->stack_counts.items[k];
        bool here = known->last >= findings->window.from;
        if (key->name == name && here >= steady && (here > steady || known->count > most)) {
            most = known->count;
            stack = key->stack;
            steady = here;
        }
    }
    return stack;
}

/* --- values --- */

/* Formats VALUE as in tables, but without trailing zeros of the decimals. */
static struct amount amount_of(int64_t value, enum column_type type)
{
    const struct cell cell = cell_integer(value);
    struct value_text text = value_text_of(&cell, type, 0, false);
    struct amount amount;
    size_t length = strlen(text.number);
    while (strchr(text.number, '.') && (text.number[length - 1] == '0' || text.number[length - 1] == '.')) {
        bool point = text.number[length - 1] == '.';
        text.number[--length] = '\0';
        if (point)
            break;
    }
    snprintf(amount.text, sizeof(amount.text), "%.20s%s%s", text.number, *text.unit ? " " : "", text.unit);
    return amount;
}

struct amount amount_time(int64_t ns)
{
    return amount_of(ns, TYPE_NS);
}

struct amount amount_mean(int64_t ns, int64_t count)
{
    return amount_time(count > 0 ? ns / count : 0);
}

struct amount amount_bytes(int64_t bytes)
{
    return amount_of(bytes, TYPE_BYTES);
}

struct amount amount_size(int64_t bytes)
{
    return bytes > 0 ? amount_bytes(bytes) : (struct amount){"unknown size"};
}

struct amount amount_count(int64_t count)
{
    return amount_of(count, TYPE_COUNT);
}

struct amount amount_share(int64_t part, int64_t whole)
{
    struct amount amount;
    double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
    snprintf(amount.text, sizeof(amount.text), percent >= 9.95 ? "%.0f %%" : "%.1f %%", percent);
    return amount;
}

struct finding_name finding_name(const struct trace *trace, uint32_t name)
{
    return finding_name_of(trace_text(trace, trace_shown(trace, name)));
}

struct finding_name finding_name_of(const char *text)
{
    struct finding_name shown;
    size_t length = strlen(text), most = sizeof(shown.text) - 1;
    if (length <= most) {
        memcpy(shown.text, text, length + 1);
        return shown;
    }
    static const char mark[] = "…";
    size_t head = utf8_cut(text, length, most * 2 / 3), tail = most - most * 2 / 3 - (sizeof(mark) - 1);
    while (tail > 0 && ((unsigned char)text[length - tail] & 0xc0) == 0x80)
        tail--;
    snprintf(shown.text, sizeof(shown.text), "%.*s%s%s", (int)head, text, mark, text + length - tail);
    return shown;
}

struct amount amount_part(int64_t part, int64_t whole)
{
    struct amount amount, of = amount_time(whole), own = amount_time(part);
    const char *unit = strchr(of.text, ' '), *own_unit = strchr(own.text, ' ');
    bool same = unit && own_unit && strcmp(unit, own_unit) == 0;
    snprintf(amount.text, sizeof(amount.text), "%.*s of %.12s", same ? (int)(own_unit - own.text) : 12, own.text,
             of.text);
    return amount;
}

void finding_array_release(void *state)
{
    ARRAY(char) *array = state;
    array_release(array);
}

/* --- the list of rules --- */

const struct rule *finding_rule(const char *id, size_t length)
{
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++)
        if (strlen(finding_rules[i]->id) == length && strncmp(finding_rules[i]->id, id, length) == 0)
            return finding_rules[i];
    return NULL;
}

bool findings_include(const struct findings *findings, const char *ids)
{
    for (size_t length; *ids; ids += length + (ids[length] == ',')) {
        length = strcspn(ids, ",");
        const struct rule *rule = finding_rule(ids, length);
        bool any = length == strlen("any") && strncmp(ids, "any", length) == 0;
        for (size_t i = 0; i < findings->items.count; i++)
            if (any || findings->items.items[i].rule == rule)
                return true;
    }
    return false;
}

void finding_rule_words(char *text, size_t size)
{
    snprintf(text, size, "any");
    for (size_t i = 0; i < FINDING_RULE_COUNT; i++)
        text_list_add(text, size, finding_rules[i]->id);
}
