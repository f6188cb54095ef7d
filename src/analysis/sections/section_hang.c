/*
 * Section hang. For each communicator with an operation that ranks entered and did not finish: who waits, who never
 * entered it or entered another one, and what those ranks did. The section is empty where all operations were finished.
 */
#include "analysis/model/collectives.h"
#include "analysis/model/hang_facts.h"
#include "analysis/model/section.h"
#include "analysis/ranks/hang_table.h"

static int event(void *context, const struct trace *trace, const struct event_fields *event)
{
    return hang_facts_event(&((struct hang_state *)context)->facts, &trace->strings, event);
}

static void release(void *context)
{
    struct hang_state *state = context;
    hang_facts_release(&state->facts);
    hangs_release(&state->hangs);
}

const struct hangs *hangs_found(const struct trace *trace)
{
    struct hang_state *state = (struct hang_state *)section_state(trace, REPORT_HANG); /* sections finish one by one */
    struct hangs *hangs = &state->hangs;
    if (state->found)
        return hangs;
    hangs_init(hangs, &trace->strings);
    hangs->origin = trace->start;
    state->found = true;
    int status = hang_facts_add_ranks(trace, &hangs->fronts);
    if (status == 0) {
        struct collectives_walk walk;
        const struct collective *ranks;
        collectives_walk_begin(&walk, section_state(trace, REPORT_COMM));
        for (size_t count; status == 0 && (count = collectives_next(&walk, &ranks));)
            status = hang_fronts_operation(&hangs->fronts, ranks, count);
        status = collectives_walk_end(&walk) ?: status;
    }
    status = status ?: hang_facts_tell(&state->facts, trace, &hangs->fronts);
    status = status ?: hangs_finish(hangs);
    return status == 0 ? hangs : NULL;
}

static int finish(struct report_row *row)
{
    const struct hangs *hangs = hangs_found(row->trace);
    return hangs ? hang_fill(row, hangs) : -1;
}

const struct section section_hang = {
    SECTION_COLUMNS(hang_columns),
    .listing = true,
    .paragraphs = true,
    .categories = HANG_FACTS_CATEGORIES,
    .state_size = sizeof(struct hang_state),
    .looks_at = {.stacks = true},
    .needs = REPORT_BIT(REPORT_COMM), /* all operations */
    .event = event,
    .finish = finish,
    .release = release,
};
