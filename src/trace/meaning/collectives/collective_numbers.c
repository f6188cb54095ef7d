/*
 * Sequence numbers of calls: "Seq". Those of a communicator are counted in the order of calls. NCCL's own counters,
 * which its profiler plugin gets, say how many operations of each function came before recording began, and so make the
 * numbers those of all ranks, whenever these began to record.
 */
#include <string.h>

#include "common/lookup.h"
#include "trace/meaning/collectives/collectives.h"

/* A call, by its time. */
struct turn {
    uint64_t start;
    uint32_t range, call;
};

ORDER_BY(by_start, struct turn, start, range)

struct numbering {
    struct communication *collectives;
    FILE_VECTOR(struct turn) turns;
    struct map counts; /* of calls: communicator and function, or direction and peer -> count; see FOUND */
};

#define FOUND (UINT64_C(1) << 63) /* in a count: NCCL's counter of this function was seen */

/* --- what came before recording began --- */

static int look_before(struct numbering *numbering, const struct collective_call *call)
{
    struct communication *collectives = numbering->collectives;
    const struct spool_nccl_operation *record = call->task ? collectives->tasks.items[call->task - 1].record : NULL;
    uint64_t key = (uint64_t)call->communicator << 32 | (uint32_t)(uintptr_t)call->function;
    uint64_t *count = map_put(&numbering->counts, key, NULL);
    if (!count)
        return -1;
    if (record && record->sequence != SPOOL_NCCL_NO_SEQUENCE && !(*count & FOUND)) {
        if (record->sequence > *count)
            collectives->communicators.items[call->communicator - 1].before += record->sequence - *count;
        *count |= FOUND;
    }
    (*count)++;
    return 0;
}

/* --- numbers --- */

static int number_call(struct numbering *numbering, struct collective_call *call)
{
    /* The payload says it; what both sends and receives would have two. */
    if (call->sequence != UINT64_MAX || call->function->pairs == COLLECTIVE_EXCHANGES)
        return 0;
    if (call->function->pairs == COLLECTIVE_OF_ALL) {
        struct collective_communicator *of = &numbering->collectives->communicators.items[call->communicator - 1];
        /* Of several ranks in one process each calls every operation. */
        call->sequence = of->here > 1 ? of->next++ / of->here : of->before + of->next++;
        return 0;
    }
    uint64_t sends = call->function->pairs == COLLECTIVE_SENDS;
    uint64_t key = (uint64_t)call->communicator << 32 | sends << 31 | ((uint64_t)call->peer & INT32_MAX);
    uint64_t *next = map_put(&numbering->counts, key, NULL);
    if (next)
        call->sequence = (*next)++;
    return next ? 0 : -1;
}

static int number_all(struct numbering *numbering)
{
    struct collective_call *calls = numbering->collectives->calls.items;
    const struct turn *turns = numbering->turns.items;
    int result = 0;
    for (size_t i = 0; i < numbering->turns.count && result == 0; i++)
        if (calls[turns[i].call].function->pairs == COLLECTIVE_OF_ALL)
            result = look_before(numbering, &calls[turns[i].call]);
    map_release(&numbering->counts);
    numbering->counts = (struct map){0};
    for (size_t i = 0; i < numbering->turns.count && result == 0; i++)
        result = number_call(numbering, &calls[turns[i].call]);
    return result;
}

int collectives_number(struct communication *collectives)
{
    struct numbering numbering = {.collectives = collectives};
    bool kept = true;
    numbering.turns.memory.directory = collectives->calls.memory.directory;
    for (size_t i = 0; i < collectives->calls.count && kept; i++) {
        const struct collective_call *call = &collectives->calls.items[i];
        struct turn turn = {.start = call->start, .range = call->range, .call = (uint32_t)i};
        kept = call->communicator == 0 || ADD(file_vector_push, &numbering.turns, turn);
    }
    int result = kept && file_vector_sort(&numbering.turns, by_start) == 0 ? number_all(&numbering) : -1;
    file_vector_release(&numbering.turns);
    map_release(&numbering.counts);
    return result;
}
