/*
 * The rule about GPUs that wait while the launching thread is blocked: off the processor outside of CUDA, in a system
 * call, a lock or a sleep.
 */
#include "common/settings.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/host_findings.h"
#include "analysis/idle/idle.h"
#include "analysis/model/section.h"

static int blocked_find(void *state, struct findings *findings)
{
    const struct idle *idle = findings->idle;
    struct host_answer worst = {0};
    size_t device = 0;
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
    if (worst.total <= 0)
        return 0;
    struct finding_place place = host_gap_place(device, host_gap(idle, device, worst.activity));
    place.stack = host_activity_stack(&idle->host, worst.activity);
    struct finding *finding = finding_add(findings, worst.total, worst.total, worst.gaps, &place);
    bool one = worst.most == worst.total;
    finding_advise(finding, "%s", host_advice(&idle->host, worst.activity));
    return finding_say(finding, "The GPU waits for a blocked thread, %s time%s: %s%s%s%s",
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
