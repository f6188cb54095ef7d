/*
 * The rule about waiting for PyTorch's DataLoader.
 */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "analysis/base/busy.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/names.h"
#include "analysis/engine/section.h"
#include "analysis/idle/host_findings.h"
#include "analysis/idle/idle.h"

struct loading {
    ARRAY(char) is_loader; /* by name: 1 it is not, 2 it is, 0 not asked yet */
    int64_t count, time;   /* ns, of all threads */
    bool single;
};

static int loading_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct loading *loading = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    char *known = array_at(&loading->is_loader, event->name);
    if (!known)
        return -1;
    if (!*known) {
        const char *name = interned(&trace->strings, event->name);
        *known = name_is_data_loader(name) ? 2 : 1;
        loading->single |= *known == 2 && strstr(name, "_SingleProcess");
    }
    if (*known == 2) {
        loading->count++;
        loading->time = sum_of(loading->time, event->duration);
    }
    return 0;
}

/* How long DEVICE was idle because the launching thread was in the DataLoader, and the row with most of that. */
static int64_t loading_idle(const struct trace *trace, const struct idle *idle, size_t device,
                            const struct idle_row **worst)
{
    int64_t total = 0;
    for (const struct idle_row *row = idle_first_row(&idle->rows, device); row; row = idle_next_row(&idle->rows, row)) {
        if (!idle_is_loading(trace, &row->what))
            continue;
        total = sum_of(total, row->sum.total);
        *worst = !*worst || row->sum.total > (*worst)->sum.total ? row : *worst;
    }
    return total;
}

static int loading_find(void *state, struct findings *findings)
{
    const struct loading *loading = state;
    const struct idle *idle = findings->idle;
    const struct idle_row *worst = NULL;
    int64_t cost = 0;
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        const struct idle_row *row = NULL;
        int64_t one = loading_idle(findings->trace, idle, i, &row);
        if (one > cost) {
            cost = one;
            worst = row;
        }
    }
    if (!worst || cost < findings->steady / 100 * FINDING_LOADING_STEPS_PERCENT)
        return 0;
    const struct host_query query = {.device = worst->what.device, .loading = true};
    uint32_t activity = host_idle_find(findings->trace, idle, &query).activity;
    struct finding_place place = host_gap_place(worst->what.device, NULL);
    place.time = worst->sum.gap;
    place.until = worst->sum.gap + worst->sum.current;
    struct finding *finding = finding_add(findings, cost, cost, loading->count, &place);
    if (!finding)
        return 0;
    finding->range = worst->what.range;
    finding->operation = worst->what.operation;
    finding->place.stack = activity != EVENT_NO_TEXT ? host_activity_stack(&idle->host, activity) : FIELD_ABSENT;
    finding_advise(finding, "%s",
                   loading->single ? "Load data in processes of their own: DataLoader(num_workers=4, pin_memory=True)."
                                   : "Use more workers (num_workers), prefetch more (prefetch_factor), or make loading "
                                     "cheaper: decode once, augment on the GPU.");
    return finding_format(finding, "The GPU waits for the DataLoader, which takes %s for %s batch%s%s%s%s",
                          amount_time(loading->time).text, amount_count(loading->count).text,
                          amount_word(loading->count, "", "es"), loading->single ? " in the process that trains" : "",
                          activity != EVENT_NO_TEXT ? ": " : "", host_phrase(&idle->host, activity).text);
}

static void loading_release(void *state)
{
    array_release(&((struct loading *)state)->is_loader);
}

const struct rule rule_data_loading = {
    .id = "data-loading",
    .section = "idle",
    .of_idle = true,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .state_size = sizeof(struct loading),
    .categories = CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP),
    .event = loading_event,
    .find = loading_find,
    .release = loading_release,
};
