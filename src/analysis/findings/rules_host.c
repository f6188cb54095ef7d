/*
 * The rule about GPUs that wait while the launching thread is blocked: off the processor outside of CUDA, in a system
 * call, a lock or a sleep.
 */
#include "common/settings.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/host_findings.h"
#include "analysis/idle/idle.h"
#include "analysis/model/section.h"

static struct finding *add_blocked(struct findings *findings, const struct idle *idle, size_t device,
                                   const struct host_answer *blocked)
{
    const struct idle_gap *gap = host_gap(idle, device, blocked->activity);
    struct finding_place place = finding_nowhere();
    place.device = (int64_t)device;
    place.stack = host_activity_stack(&idle->host, blocked->activity);
    if (gap) {
        place.time = place.called = gap->start;
        place.until = gap->end;
        place.thread = gap->thread;
    }
    return finding_add(findings, blocked->total, blocked->total, &place);
}

static int blocked_find(void *state, struct findings *findings)
{
    const struct idle *idle = findings->idle;
    struct host_answer worst = {0};
    size_t device = 0;
    (void)state;
    for (size_t i = 0; idle && i < idle->devices.count; i++) {
        const struct host_question question = {.device = i, .wanted = HOST_OFF_PROCESSOR};
        struct host_answer blocked = host_ask(findings->trace, idle, &question);
        bool matters =
            blocked.total >= FINDING_BLOCKED_NS && blocked.total >= findings->steady / 100 * FINDING_BLOCKED_PERCENT;
        if (!matters || blocked.total <= worst.total)
            continue;
        worst = blocked;
        device = i;
    }
    struct finding *finding = worst.total > 0 ? add_blocked(findings, idle, device, &worst) : NULL;
    if (!finding)
        return 0;
    bool one = worst.most == worst.total;
    finding->count = worst.gaps;
    finding_advise(finding, "%s", host_advice(&idle->host, worst.activity));
    return finding_say(finding, "The GPU waits for a blocked thread, %s time%s: %s%s%s%s",
                       amount_count(worst.gaps).text, worst.gaps == 1 ? "" : "s",
                       host_phrase(&idle->host, worst.activity).text, one ? "" : " (",
                       one ? "" : amount_share(worst.most, worst.total).text, one ? "" : " of it)");
}

const struct rule rule_host_blocked = {
    .id = "host-blocked",
    .section = "host-waits",
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .find = blocked_find,
};
