/* Rules about idle GPUs: what the host does in that time, long gaps, and parts of the run in which a GPU is hardly
 * used. */
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/trace_known.h"
#include "analysis/idle/idle.h"
#include "analysis/engine/section.h"
#include "analysis/base/busy.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"

/* Adds a finding whose place is GAP on DEVICE (NULL: only DEVICE), with the range and operator of the gap's main cause.
 * Returns as finding_add(). */
static struct finding *add_in_gap(struct findings *findings, int64_t cost, int64_t count, const struct idle_gap *gap,
                                  size_t device)
{
    struct finding_place place = host_gap_place(device, gap);
    place.name = gap ? gap->after.name : EVENT_NO_TEXT;
    struct finding *finding = finding_add(findings, cost, cost, count, &place);
    if (finding && gap) {
        finding->range = idle_main_cause(gap)->what.range;
        finding->operation = idle_main_cause(gap)->what.operation;
    }
    return finding;
}

/* Returns the largest gap of DEVICE with the host mostly outside CUDA, or NULL. Prefers gaps in RANGE. */
static const struct idle_gap *gap_outside(const struct idle *idle, size_t device, uint32_t range)
{
    const struct idle_gap *found = NULL;
    bool found_in_range = false;
    for (size_t i = 0; i < idle->largest_count; i++) {
        const struct idle_gap *gap = &idle->largest[i];
        const struct idle_cause_time *part = idle_main_cause(gap);
        if (gap->device != device || part->what.cause != IDLE_OUTSIDE)
            continue;
        bool in_range = part->what.range == range;
        bool longer = !found || gap->end - gap->start > found->end - found->start;
        if (in_range > found_in_range || (in_range == found_in_range && longer)) {
            found = gap;
            found_in_range = in_range;
        }
    }
    return found;
}

/* --- the launching thread is blocked: off the processor outside of CUDA, in a system call, a lock or a sleep --- */

static int blocked_find(void *state, struct findings *findings)
{
    const struct idle *idle = findings->idle;
    struct host_idle_found worst = {0};
    size_t device = 0;
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        const struct host_query query = {.device = i, .wanted = HOST_OFF_PROCESSOR};
        struct host_idle_found blocked = host_idle_find(findings->trace, idle, &query);
        bool matters =
            blocked.total >= FINDING_BLOCKED_NS && blocked.total >= findings->steady / 100 * FINDING_BLOCKED_PERCENT;
        if (!matters || blocked.total <= worst.total)
            continue;
        worst = blocked;
        device = i;
    }
    if (worst.total <= 0)
        return 0;
    struct finding_place place = host_gap_place(device, host_gap(idle, device, worst.activity));
    place.stack = host_activity_stack(&idle->host, worst.activity);
    struct finding *finding = finding_add(findings, worst.total, worst.total, worst.gaps, &place);
    bool one = worst.most == worst.total;
    finding_advise(finding, "%s", host_advice(&idle->host, worst.activity));
    return finding_format(finding, "The GPU waits for a blocked thread, %s time%s: %s%s%s%s",
                          amount_count(worst.gaps).text, amount_word(worst.gaps, "", "s"),
                          host_phrase(&idle->host, worst.activity).text, one ? "" : " (",
                          one ? "" : amount_share(worst.most, worst.total).text, one ? "" : " of it)");
}

const struct rule rule_host_blocked = {
    .id = "host-blocked",
    .section = "host-waits",
    .of_idle = true,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .find = blocked_find,
};

/* --- the host does other things --- */

struct outside {
    int64_t time, gaps; /* ns */
    int64_t longest;    /* ns */
    uint32_t range;     /* in which most of the time is; EVENT_NO_TEXT: none */
    uint32_t activity;  /* that took most of the time; EVENT_NO_TEXT: not known */
    size_t device;
};

static bool has_finding(const struct findings *findings, const struct rule *rule)
{
    for (size_t i = 0; i < findings->items.count; i++)
        if (findings->items.items[i].rule == rule)
            return true;
    return false;
}

/* Whether RANGE is a whole step, whose name does not show which part of the step takes long. */
static bool is_step(const struct trace *trace, uint32_t range)
{
    const struct steps *steps = section_state(trace, REPORT_STEPS);
    for (size_t i = 0; steps && range != EVENT_NO_TEXT && i < steps->processes.count; i++) {
        uint32_t step = steps->processes.items[i].name;
        const char *name = step == EVENT_NO_TEXT ? "" : interned(&steps->names, step);
        if (*name && strncmp(trace_text(trace, range), name, strlen(name)) == 0)
            return true;
    }
    return false;
}

/* Returns the idle time of DEVICE with the host outside CUDA, without the time that the rules about the DataLoader and
 * blocked threads count. */
static struct outside outside_of(const struct findings *findings, const struct idle *idle, size_t device)
{
    const struct idle_sum *sum = &idle->devices.items[device].causes[IDLE_OUTSIDE];
    struct outside outside = {.time = sum->total, .gaps = sum->count, .longest = sum->longest, .device = device};
    bool blocked = has_finding(findings, &rule_host_blocked);
    const struct host_query off = {.device = device, .wanted = HOST_OFF_PROCESSOR};
    const struct host_query rest = {.device = device, .wanted = blocked ? HOST_ON_PROCESSOR : HOST_ANY};
    int64_t most = -1;
    sum_add(&outside.time, blocked ? -host_idle_find(findings->trace, idle, &off).total : 0);
    outside.activity = host_idle_find(findings->trace, idle, &rest).activity;
    for (const struct idle_row *row = idle_first_row(&idle->rows, device); row; row = idle_next_row(&idle->rows, row)) {
        if (row->what.cause != IDLE_OUTSIDE)
            continue;
        if (idle_is_loading(findings->trace, &row->what)) {
            sum_add(&outside.time, -row->sum.total);
        } else if (row->sum.total > most) {
            most = row->sum.total;
            outside.range = is_step(findings->trace, row->what.range) ? EVENT_NO_TEXT : row->what.range;
        }
    }
    return outside;
}

static int host_find(void *state, struct findings *findings)
{
    const struct idle *idle = findings->idle;
    struct outside worst = {0};
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        struct outside outside = outside_of(findings, idle, i);
        bool matters = outside.gaps >= FINDING_HOST_GAPS && outside.time >= FINDING_HOST_NS &&
                       outside.time >= findings->steady / 100 * FINDING_HOST_GAPS_PERCENT;
        worst = matters && outside.time > worst.time ? outside : worst;
    }
    if (worst.time <= 0)
        return 0;
    const struct idle_gap *gap =
        host_gap(idle, worst.device, worst.activity) ?: gap_outside(idle, worst.device, worst.range);
    struct finding *finding = add_in_gap(findings, worst.time, worst.gaps, gap, worst.device);
    bool named = worst.range != EVENT_NO_TEXT, sampled = worst.activity != EVENT_NO_TEXT;
    if (!finding)
        return 0;
    struct host_between between = {.loads = false};
    if (sampled) {
        finding->place.stack = host_activity_stack(&idle->host, worst.activity);
        finding_advise(finding, "%s", host_advice(&idle->host, worst.activity));
        between.loads = host_fetches_batch(findings->trace, finding->place.stack);
    } else if (gap && !named && gap->before.name != EVENT_NO_TEXT && gap->after.name != EVENT_NO_TEXT) {
        between = host_between(findings->trace, gap);
    }
    if (between.loads) {
        finding->rule = &rule_data_loading;
        finding_advise(finding, "Load data in more processes of their own, and ahead of the need: "
                                "DataLoader(num_workers=4, pin_memory=True, prefetch_factor=4).");
    }
    return finding_format(
        finding, "The GPU waits %s times while the host works outside CUDA, %s on average and %s at most%s%s%s%s%s%s",
        amount_count(worst.gaps).text, amount_time(worst.time / worst.gaps).text, amount_time(worst.longest).text,
        named ? ", mostly in the range " : "", named ? finding_name(findings->trace, worst.range).text : "",
        *between.text ? ", the longest between " : "", between.text, sampled ? ": " : "",
        host_phrase(&idle->host, worst.activity).text);
}

const struct rule rule_host_work = {
    .id = "host-work",
    .advice =
        "Look at what the host does there (--cpu=samples or NVTX ranges show it), and do it while the GPU is busy: "
        "prepare the next work, in another thread or process, before waiting for the last.",
    .section = "gaps",
    .of_idle = true,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .find = host_find,
};

/* --- large gaps --- */

struct gaps {
    int64_t total, count;
    const struct idle_gap *largest;
};

static int gaps_find(void *state, struct findings *findings)
{
    const struct idle *idle = findings->idle;
    struct gaps most = {0};
    /* Gaps in which the host worked outside CUDA are skipped if another finding is about them. */
    bool outside_known = has_finding(findings, &rule_host_work) || has_finding(findings, &rule_host_blocked);
    for (size_t device = 0; idle && device < idle->devices.count; device++) {
        struct gaps gaps = {0};
        for (size_t i = 0; i < idle->largest_count; i++) {
            const struct idle_gap *gap = &idle->largest[i];
            bool inside = gap->before.name != EVENT_NO_TEXT && gap->after.name != EVENT_NO_TEXT;
            bool known = outside_known && idle_main_cause(gap)->what.cause == IDLE_OUTSIDE;
            if (gap->device != device || !inside || known || gap->end - gap->start < FINDING_GAP_NS)
                continue;
            gaps.total = sum_of(gaps.total, gap->end - gap->start);
            gaps.count++;
            if (!gaps.largest || gap->end - gap->start > gaps.largest->end - gaps.largest->start)
                gaps.largest = gap;
        }
        most = gaps.total > most.total ? gaps : most;
    }
    if (!most.largest)
        return 0;
    struct finding *finding = add_in_gap(findings, most.total, most.count, most.largest, most.largest->device);
    return finding_format(
        finding, "The GPU does nothing for longer than %s, %s time%s; the longest takes %s: %s%s%s",
        amount_time(FINDING_GAP_NS).text, amount_count(most.count).text, amount_word(most.count, "", "s"),
        amount_time(most.largest->end - most.largest->start).text,
        trace_phrase(findings->trace, idle_cause_words[idle_main_cause(most.largest)->what.cause].text).text,
        most.largest->activity != EVENT_NO_TEXT ? ": " : "", host_phrase(&idle->host, most.largest->activity).text);
}

const struct rule rule_gpu_gaps = {
    .id = "gpu-gaps",
    .advice = "Look at what the host does in that time: --cpu=switches, NVTX ranges or operators show it.",
    .section = "gaps",
    .sources = {TRACE_GPU_WORK},
    .find = gaps_find,
};

/* --- parts of the run in which the GPU is hardly used --- */

struct use_of_device {
    int64_t until;                /* ns: operations up to here are counted */
    int64_t busy[FINDING_CHUNKS]; /* ns */
};

struct use {
    ARRAY(struct use_of_device) devices;
};

static int use_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct use *use = state;
    while (use->devices.count <= op->device)
        if (!ADD(array_push, &use->devices, (struct use_of_device){.until = trace->start}))
            return -1;
    struct use_of_device *device = &use->devices.items[op->device];
    int64_t chunk = trace_span(trace) / FINDING_CHUNKS + 1,
            start = op->start < device->until ? device->until : op->start;
    device->until = op->end > device->until ? op->end : device->until;
    for (int64_t stop; start < op->end; start = stop) {
        int64_t index = (start - trace->start) / chunk, next = trace->start + (index + 1) * chunk;
        stop = op->end < next ? op->end : next;
        if (index < 0 || index >= FINDING_CHUNKS)
            break;
        sum_add(&device->busy[index], stop - start);
    }
    return 0;
}

/* The chunks of the run in which a GPU was hardly used. Indices of chunks, counts, and ns. */
struct low_chunks {
    int64_t count, of, idle, first, last;
    size_t device;
};

/* Skips the first and the last chunk, which may be partly outside of the run. */
static struct low_chunks low_chunks_of(const struct use *use, const struct findings *findings, size_t device)
{
    const struct trace *trace = findings->trace;
    int64_t chunk = trace_span(trace) / FINDING_CHUNKS + 1;
    int64_t begin = (findings->from - trace->start) / chunk, end = (findings->to - trace->start) / chunk;
    struct low_chunks low = {.of = end - begin - 1, .first = -1, .device = device};
    for (int64_t i = begin + 1; i < end && i < FINDING_CHUNKS; i++) {
        int64_t busy = use->devices.items[device].busy[i];
        if (busy >= chunk / 100 * FINDING_CHUNK_PERCENT)
            continue;
        low.first = low.first < 0 ? i : low.first;
        low.last = i;
        sum_add(&low.idle, chunk - busy);
        low.count++;
    }
    bool matters = low.idle >= findings->steady / 100 * FINDING_LOW_USE_PERCENT && low.idle >= FINDING_LOW_USE_NS;
    return matters ? low : (struct low_chunks){0};
}

static int use_find(void *state, struct findings *findings)
{
    const struct use *use = state;
    const struct trace *trace = findings->trace;
    int64_t chunk = trace_span(trace) / FINDING_CHUNKS + 1;
    struct low_chunks low = {0};
    int64_t most = 0;
    for (size_t i = 0; i < use->devices.count; i++)
        most = trace->devices.items[i].busy.total > most ? trace->devices.items[i].busy.total : most;
    for (size_t i = 0; i < use->devices.count; i++) {
        /* Skip GPUs that ran only a few sets or copies. */
        if (!trace->devices.items[i].used || trace->devices.items[i].busy.total <= most / 1000)
            continue;
        struct low_chunks one = low_chunks_of(use, findings, i);
        low = one.idle > low.idle ? one : low;
    }
    for (size_t i = 0; i < findings->items.count; i++)
        if (findings->items.items[i].cost > low.idle / 2) /* another finding explains most of this time */
            return 0;
    if (low.count == 0)
        return 0;
    struct finding_place place = host_gap_place(low.device, NULL);
    place.time = trace->start + low.first * chunk;
    place.until = trace->start + (low.last + 1) * chunk;
    struct finding *finding = finding_add(findings, low.idle, low.idle, low.count, &place);
    /* The sentence names the largest cause of idle time between the first and the last operation of the GPU. */
    const struct idle *idle = findings->idle;
    unsigned cause = IDLE_UNKNOWN;
    for (unsigned i = 0; idle && low.device < idle->devices.count && i < IDLE_CAUSE_COUNT; i++) {
        const struct idle_sum *causes = idle->devices.items[low.device].causes;
        if (i != IDLE_BEFORE && i != IDLE_AFTER && causes[i].total > causes[cause].total)
            cause = i;
    }
    const struct host_query query = {.device = low.device};
    idle = cause == IDLE_OUTSIDE ? idle : NULL;
    uint32_t activity = idle ? host_idle_find(trace, idle, &query).activity : EVENT_NO_TEXT;
    return finding_format(
        finding,
        "The GPU works less than %d %% of the time in %s of %s equal parts of the run, %s to %s; most "
        "idle time: %s%s%s",
        FINDING_CHUNK_PERCENT, amount_count(low.count).text, amount_count(low.of).text,
        amount_time(place.time - trace->start).text, amount_time(place.until - trace->start).text,
        trace_phrase(trace, idle_cause_words[cause].text).text, activity != EVENT_NO_TEXT ? ": " : "",
        host_phrase(idle ? &idle->host : NULL, activity).text);
}

const struct rule rule_low_use = {
    .id = "low-use",
    .advice = "Look at what the program does in that time, and whether it can be done while the GPU works on something "
              "else.",
    .section = "idle",
    .sources = {TRACE_GPU_WORK},
    .state_size = sizeof(struct use),
    .op = use_op,
    .find = use_find,
    .release = finding_array_release,
};

/* --- waiting for PyTorch's DataLoader --- */

struct loading {
    ARRAY(char) is_loader; /* by number of the name: 0: not known yet; 1: no; 2: yes */
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

static int loading_find(void *state, struct findings *findings)
{
    const struct loading *loading = state;
    const struct idle *idle = findings->idle;
    const struct idle_row *worst = NULL;
    int64_t cost = 0;
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        /* Sum the GPU's idle time while the launching thread was in the DataLoader, and find the row with most of that
         * time. */
        const struct idle_row *most = NULL;
        int64_t total = 0;
        for (const struct idle_row *row = idle_first_row(&idle->rows, i); row; row = idle_next_row(&idle->rows, row)) {
            if (!idle_is_loading(findings->trace, &row->what))
                continue;
            sum_add(&total, row->sum.total);
            most = !most || row->sum.total > most->sum.total ? row : most;
        }
        if (total > cost) {
            cost = total;
            worst = most;
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

const struct rule rule_data_loading = {
    .id = "data-loading",
    .section = "idle",
    .of_idle = true,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .state_size = sizeof(struct loading),
    .categories = CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP),
    .event = loading_event,
    .find = loading_find,
    .release = finding_array_release,
};
