/*
 * Findings that wait a little before they are told.
 *
 * A function of the host, a written value or a graph may tell another thread that work is done before this plugin is
 * told of the call that put it there: the thread that called is still on its way back. What the other thread does then
 * looks unordered for a moment. So in a program of several threads a finding is held for a while, and dropped when a
 * call comes to light that had begun before the second of its places and may have ordered it.
 */
#include "hazards.h"

uint64_t hazards_hold = 50000000;

static bool explains(const struct hazards *hazards, const struct gputrace_call *call, uint32_t number,
                     const struct finding *finding)
{
    return finding->stream != ORDER_STREAMS_MAX && call->start < finding->second.time &&
           order_is_before(&hazards->order, finding->stream, finding->time, number);
}

void hazards_release(struct hazards *hazards, const struct gputrace_call *call, uint32_t number)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < hazards->held_count; i++)
        if (!explains(hazards, call, number, &hazards->held[i]))
            hazards->held[kept++] = hazards->held[i];
    hazards->held_count = kept;
}

static void tell_first(struct hazards *hazards)
{
    reports_add(&hazards->reports, hazards->host, &hazards->held[0]);
    memmove(hazards->held, hazards->held + 1, --hazards->held_count * sizeof(*hazards->held));
}

void hazards_tell_held(struct hazards *hazards, bool all)
{
    uint64_t now = hazards->held_count && !all ? gputrace_now(hazards->host) : 0;
    while (hazards->held_count && (all || now - hazards->held[0].second.time > hazards_hold))
        tell_first(hazards);
}

void hazards_tell(struct hazards *hazards, const struct finding *finding)
{
    if (!hazards->several_threads || hazards_hold == 0 || finding->kind == FINDING_VOID) {
        reports_add(&hazards->reports, hazards->host, finding);
        return;
    }
    if (hazards->held_count == HAZARDS_HELD_MAX)
        tell_first(hazards);
    hazards->held[hazards->held_count++] = *finding;
}
