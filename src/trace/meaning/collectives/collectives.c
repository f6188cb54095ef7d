/*
 * Walks over the ranges of each thread in the domains of NCCL and MPI, reads their payloads, and makes calls of them,
 * with communicator, group and operation.
 */
#include "trace/meaning/collectives/collectives.h"

#include "common/log.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/nvtx_names.h"

/* --- communicators --- */

/* Returns index + 1 of the communicator, creating it if it is new; 0 if the payload has none; -1 without memory. */
static int64_t communicator_of(struct communication *collectives, enum collective_domain domain,
                               const struct collective_facts *facts)
{
    if (!facts->has_communicator)
        return 0;
    uint64_t *index = map_put(&collectives->by_id, payload_key(domain, facts->communicator), NULL);
    if (!index)
        return -1;
    if (*index == 0) {
        struct collective_communicator made = {.id = facts->communicator,
                                               .domain = domain,
                                               .device = COLLECTIVE_NO_DEVICE,
                                               .ranks = COLLECTIVE_NOT_SAID,
                                               .rank = COLLECTIVE_NOT_SAID};
        if (!ADD(array_push, &collectives->communicators, made))
            return -1;
        *index = collectives->communicators.count;
    }
    return (int64_t)*index;
}

/* Sets what a communicator's initialisation or destruction says. If several ranks are in the process, it is unknown
 * which of them calls. Returns 0, or -1 without memory. */
static int set_communicator(struct communication *collectives, int64_t index, const struct collective_facts *facts)
{
    if (index <= 0 || facts->ranks == COLLECTIVE_NOT_SAID || facts->rank == COLLECTIVE_NOT_SAID)
        return index < 0 ? -1 : 0;
    struct collective_communicator *communicator = &collectives->communicators.items[index - 1];
    bool is_new;
    uint64_t *device = map_put(&collectives->ranks_here, (uint64_t)index << 32 | (uint32_t)facts->rank, &is_new);
    if (!device)
        return -1;
    if (*device == 0 && facts->device >= 0)
        *device = (uint64_t)facts->device + 1;
    communicator->here += is_new;
    communicator->ranks = facts->ranks;
    communicator->rank = communicator->here > 1 ? COLLECTIVE_NOT_SAID : facts->rank;
    communicator->device = communicator->here > 1 || *device == 0 ? COLLECTIVE_NO_DEVICE : (uint32_t)(*device - 1);
    return 0;
}

int collectives_index_communicator(struct communication *collectives, const struct spool_nccl_communicator *record)
{
    struct collective_facts facts = {.has_communicator = true,
                                     .communicator = record->communicator,
                                     .ranks = record->ranks,
                                     .rank = record->rank,
                                     .device = COLLECTIVE_NOT_SAID};
    int64_t index = communicator_of(collectives, COLLECTIVE_NCCL, &facts);
    if (index > 0 && record->length > 0)
        collectives->communicators.items[index - 1].name = nvtx_text_of(record->text, record->length);
    return set_communicator(collectives, index, &facts);
}

/* Returns index + 1 of the reduction, 0 if TEXT is empty, or -1 without memory. */
static int64_t reduction_of(struct communication *collectives, struct nvtx_text text)
{
    if (!text.text)
        return 0;
    for (size_t i = 0; i < collectives->reductions.count; i++) {
        const struct nvtx_text *known = &collectives->reductions.items[i];
        if (known->length == text.length && memcmp(known->text, text.text, text.length) == 0)
            return (int64_t)i + 1;
    }
    return ADD(array_push, &collectives->reductions, text) ? (int64_t)collectives->reductions.count : -1;
}

/* --- calls --- */

/* State of a walk over the calls of one thread in one domain. */
struct walk {
    struct process *process;
    enum collective_domain domain;
    unsigned depth; /* how many groups are open */
    size_t group;   /* index of the first call that is not launched yet */
};

static int add_call(struct walk *walk, const struct collective_function *function, uint32_t number,
                    const struct nvtx_range *range)
{
    struct communication *collectives = walk->process->collectives;
    struct collective_facts facts;
    collective_facts_read(&facts, walk->domain, walk->process->nvtx, range);
    int64_t communicator = communicator_of(collectives, walk->domain, &facts);
    if (set_communicator(collectives, communicator, &facts) != 0)
        return -1;
    /* MPI transfers nothing to or from MPI_PROC_NULL: then there is no call. */
    bool is_pair = function && function->pairs != COLLECTIVE_OF_ALL && facts.peer == COLLECTIVE_NO_RANK;
    if (!function || (is_pair && (function->pairs != COLLECTIVE_EXCHANGES || facts.source == COLLECTIVE_NO_RANK)))
        return 0;
    int64_t reduction = reduction_of(collectives, facts.reduction);
    struct collective_call call = {.start = range->start,
                                   .sequence = facts.sequence >= 0 ? (uint64_t)facts.sequence : UINT64_MAX,
                                   .bytes = facts.bytes,
                                   .peer = facts.peer,
                                   .root = facts.root,
                                   .sent = facts.sent,
                                   .received = facts.received,
                                   .source = facts.source,
                                   .function = function,
                                   .range = number,
                                   .launcher = number,
                                   .communicator = (uint32_t)communicator,
                                   .reduction = (uint32_t)reduction};
    return reduction >= 0 && ADD(file_vector_push, &collectives->calls, call) ? 0 : -1;
}

static int visit_range(struct walk *walk, uint32_t number)
{
    struct communication *collectives = walk->process->collectives;
    const struct nvtx *nvtx = walk->process->nvtx;
    const struct nvtx_range *range = &nvtx->ranges.items[number];
    struct name name = nvtx_range_name(nvtx, range);
    switch (collective_group_of(walk->domain, name.text, name.length)) {
    case COLLECTIVE_GROUP_STARTS:
        if (walk->depth++ == 0)
            walk->group = collectives->calls.count;
        return 0;
    case COLLECTIVE_GROUP_ENDS:
        walk->depth -= walk->depth > 0;
        for (; walk->depth == 0 && walk->group < collectives->calls.count; walk->group++)
            collectives->calls.items[walk->group].launcher = number;
        return 0;
    default: break;
    }
    int result = add_call(walk, collective_function_of(walk->domain, name.text, name.length), number, range);
    if (walk->depth == 0)
        walk->group = collectives->calls.count;
    return result;
}

static int walk_track(struct process *process, const struct nvtx_track *track, enum collective_domain domain)
{
    struct walk walk = {.process = process, .domain = domain, .group = process->collectives->calls.count};
    int result = 0;
    for (size_t i = 0; i < track->ranges.count && result == 0; i++) {
        result = visit_range(&walk, track->ranges.items[i]);
        process_passed(process, i);
    }
    return result == 0 ? 0 : error_no_memory("collective operations");
}

static enum collective_domain note_domain(struct process *process, uint32_t number)
{
    struct communication *collectives = process->collectives;
    size_t most = sizeof(collectives->domains) / sizeof(*collectives->domains), i = 0;
    while (i < collectives->domain_count && collectives->domains[i].number != number)
        i++;
    if (i < collectives->domain_count)
        return collectives->domains[i].domain;
    enum collective_domain domain = collective_domain_named(nvtx_domain_name(process->nvtx, number));
    if (domain == COLLECTIVE_DOMAINS || i == most)
        return COLLECTIVE_DOMAINS;
    collectives->domains[collectives->domain_count++] = (struct collective_domain_number){number, domain};
    return domain;
}

/* --- what launched what --- */

ORDER_BY(by_launcher, struct collective_call, launcher, function->kernel, device, start, range)
ORDER_BY(by_range, struct collective_of_range, range)

static int sort_calls(struct communication *collectives)
{
    const struct collective_communicator *communicators = collectives->communicators.items;
    for (size_t i = 0; i < collectives->calls.count; i++) {
        struct collective_call *call = &collectives->calls.items[i];
        call->device = call->communicator ? communicators[call->communicator - 1].device : COLLECTIVE_NO_DEVICE;
    }
    if (file_vector_sort(&collectives->calls, by_launcher) != 0)
        return -1;
    /* Until collectives_share() knows better: one kernel does all calls of a function in a launch. */
    struct collective_call *calls = collectives->calls.items;
    for (size_t i = 0; i < collectives->calls.count; i++) {
        bool same = i > 0 && calls[i].launcher == calls[i - 1].launcher &&
                    calls[i].function->kernel == calls[i - 1].function->kernel;
        calls[i].leader = same ? calls[i - 1].leader : (uint32_t)i;
    }
    for (size_t i = 0; i < collectives->calls.count; i++) {
        struct collective_of_range place = {collectives->calls.items[i].range, (uint32_t)i};
        if (!ADD(file_vector_push, &collectives->by_range, place))
            return -1;
    }
    return file_vector_sort(&collectives->by_range, by_range);
}

uint32_t collectives_range_at(const struct process *process, struct nvtx_places *places, uint32_t thread, uint64_t time)
{
    const struct communication *collectives = process->collectives;
    uint32_t range = 0;
    for (size_t i = 0; i < collectives->domain_count && range == 0; i++)
        if (collectives->domains[i].domain == COLLECTIVE_NCCL)
            range = nvtx_innermost(process->nvtx, places, thread, collectives->domains[i].number, time);
    return range;
}

size_t collectives_place_of_range(const struct communication *collectives, uint32_t number)
{
    const struct collective_of_range *places = collectives->by_range.items;
    size_t place = COUNT_BEFORE(collectives->by_range.count, i, places[i].range < number);
    return place < collectives->by_range.count && places[place].range == number ? places[place].call : SIZE_MAX;
}

size_t collectives_launched(const struct process *process, struct nvtx_places *places, uint32_t thread, uint64_t time,
                            size_t *first)
{
    const struct communication *collectives = process->collectives;
    const struct collective_call *calls = collectives->calls.items;
    uint32_t range = collectives_range_at(process, places, thread, time);
    *first = range ? COUNT_BEFORE(collectives->calls.count, i, calls[i].launcher < range - 1) : 0;
    size_t next = *first;
    while (range && next < collectives->calls.count && calls[next].launcher == range - 1)
        next++;
    return next - *first;
}

bool collectives_find_capture(const struct process *process, const struct event *event, uint32_t *thread,
                              uint64_t *time)
{
    const struct graph_nodes *nodes = &process->kernel_names->nodes;
    size_t change = graph_nodes_change(nodes, event->kernel.graph_node, event->correlation);
    const struct graph_node_change *made = graph_nodes_origin(nodes, change);
    if (!made)
        return false;
    *thread = made->thread;
    *time = made->time;
    return true;
}

size_t collectives_of_function(const struct communication *collectives, enum collective_kernels does, size_t *first,
                               size_t count)
{
    const struct collective_call *calls = collectives->calls.items;
    size_t from = *first, end = *first + count, found = 0;
    while (from < end && calls[from].function->kernel != does)
        from++;
    while (from + found < end && calls[from + found].function->kernel == does)
        found++;
    *first = found > 0 ? from : *first;
    return found > 0 ? found : count;
}

/*
 * Sequence numbers of calls, "Seq": the calls of a communicator are counted in their order. NCCL's own counters, which
 * its profiler plugin gets, tell how many operations of each function came before recording began. With them, all ranks
 * number an operation alike, whenever they began to record.
 */

/* A call, for sorting by time. */
struct turn {
    uint64_t start;
    uint32_t range, call;
};

ORDER_BY(by_start, struct turn, start, range)

struct numbering {
    struct communication *collectives;
    FILE_VECTOR(struct turn) turns;
    struct map counts; /* communicator and function, or direction and peer -> number of calls; FOUND may be set */
};

#define FOUND (UINT64_C(1) << 63) /* NCCL's counter of this function has been seen */

static int index_before(struct numbering *numbering, const struct collective_call *call)
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
    /* The payload has the sequence; or the call both sends and receives, and would need two. */
    if (call->sequence != UINT64_MAX || call->function->pairs == COLLECTIVE_EXCHANGES)
        return 0;
    if (call->function->pairs == COLLECTIVE_OF_ALL) {
        struct collective_communicator *of = &numbering->collectives->communicators.items[call->communicator - 1];
        /* If several ranks are in the process, each of them calls every operation. */
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
            result = index_before(numbering, &calls[turns[i].call]);
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
    return result == 0 ? 0 : error_no_memory("collective operations");
}

int collectives_find(struct process *process)
{
    struct communication *collectives = process->collectives;
    const struct nvtx *nvtx = process->nvtx;
    for (size_t i = 0; i < nvtx->tracks.count; i++) {
        const struct nvtx_track *track = &nvtx->tracks.items[i];
        enum collective_domain domain = note_domain(process, track->domain);
        if (domain != COLLECTIVE_DOMAINS && walk_track(process, track, domain) != 0)
            return -1;
    }
    if (collectives->calls.count == 0)
        return 0;
    return sort_calls(collectives) == 0 ? 0 : error_no_memory("collective operations");
}
