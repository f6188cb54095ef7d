/*
 * Reads the trace as a report does, sorts its operations by rank and time, and adds entries for ranks that did nothing
 * in a group.
 */
#include "analysis/job/flight_job.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/base/options.h"
#include "analysis/engine/trace_reader.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/sources.h"
#include "trace/fields_receiver.h"

const char *const flight_words[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_ALLREDUCE] = "all_reduce",
    [COLLECTIVE_ALLGATHER] = "_all_gather_base",
    [COLLECTIVE_REDUCESCATTER] = "_reduce_scatter_base",
    [COLLECTIVE_ALLTOALL] = "all_to_all",
    [COLLECTIVE_BROADCAST] = "broadcast",
    [COLLECTIVE_REDUCE] = "reduce",
    [COLLECTIVE_GATHER] = "gather",
    [COLLECTIVE_SCATTER] = "scatter",
    [COLLECTIVE_SEND] = "send",
    [COLLECTIVE_RECV] = "recv",
    [COLLECTIVE_BARRIER] = "barrier",
};

ORDER_BY(by_rank_and_time, struct flight_entry, rank, time, group, own.sequence)

void flight_job_init(struct flight_job *job)
{
    static const struct report_options options;
    *job = (struct flight_job){.fronts = {.strings = &job->trace.strings}};
    trace_init(&job->trace, &options);
    collectives_init(&job->collectives, job->trace.space);
    sorter_init(&job->entries, job->trace.space, sizeof(struct flight_entry), by_rank_and_time);
}

void flight_job_release(struct flight_job *job)
{
    for (size_t i = 0; i < job->groups.count; i++)
        array_release(&job->groups.items[i].ranks);
    array_release(&job->groups);
    array_release(&job->ranks);
    array_release(&job->done);
    dense_map_release(&job->rank_ids);
    sorter_release(&job->entries);
    hang_fronts_release(&job->fronts);
    hang_facts_release(&job->facts);
    collectives_release(&job->collectives);
    trace_release(&job->trace);
}

/* --- the trace --- */

static int read_event(void *context, struct event_fields *event)
{
    struct flight_job *job = context;
    bool fact = category_in(event->category, HANG_FACTS_CATEGORIES);
    if (trace_receive_event(&job->trace, event) < 0)
        return -1;
    if ((fact && hang_facts_event(&job->facts, &job->trace.strings, event) < 0) ||
        (event_communicates(event) && collectives_event(&job->collectives, &job->trace, event) < 0))
        return error_no_memory("operations");
    return 0;
}

/* --- groups and ranks --- */

/* Adds RANK to a sorted array of ranks. Returns 1 if RANK is new, 0 if it is not, or -1: no memory. */
#define add_rank(ranks, rank) add_rank_to(&(ranks)->items, &(ranks)->count, &(ranks)->capacity, rank)
static int add_rank_to(int64_t **items, size_t *count, size_t *capacity, int64_t rank)
{
    size_t at = *count;
    while (at > 0 && (*items)[at - 1] > rank)
        at--;
    if (at > 0 && (*items)[at - 1] == rank)
        return 0;
    if (!array_push_bytes((void **)items, count, capacity, sizeof(**items)))
        return -1;
    memmove(*items + at + 1, *items + at, (*count - 1 - at) * sizeof(**items));
    (*items)[at] = rank;
    return 1;
}

static int add_entry(struct flight_job *job, const struct collective *own, int64_t finished)
{
    struct flight_entry entry = {.rank = own->rank,
                                 .time = own->called != FIELD_ABSENT ? own->called : own->start,
                                 .finished = finished,
                                 .own = *own};
    if (own->rank == FIELD_ABSENT || !flight_words[own->kind] || own->part > 0 ||
        strncmp(trace_text(&job->trace, own->name), "MPI_", strlen("MPI_")) == 0) {
        job->left_out++;
        return 0;
    }
    /* Operations come by group, so the group is the last or a new one. */
    size_t count = job->groups.count;
    bool known = count > 0 && collective_same_group(&job->groups.items[count - 1].one, own);
    struct flight_group *group = known ? &job->groups.items[count - 1] : array_push(&job->groups);
    if (!group)
        return -1;
    if (!known)
        *group = (struct flight_group){.one = *own};
    int added = add_rank(&group->ranks, own->rank);
    if (added < 0 || add_rank(&job->ranks, own->rank) < 0)
        return -1;
    /* Operations of a group come in order, so this ends as the first operation of the rank that began last. */
    group->first = added > 0 ? own->sequence : group->first;
    group->one.group_size = own->group_size != FIELD_ABSENT ? own->group_size : group->one.group_size;
    const uint64_t rank = (uint64_t)own->rank;
    int64_t *done = own->start != FIELD_ABSENT ? dense_map_item(&job->rank_ids, &rank, &job->done) : NULL;
    if (own->start != FIELD_ABSENT && !done)
        return -1;
    if (done && entry.time > *done)
        *done = entry.time;
    entry.group = (uint32_t)(group - job->groups.items);
    return sorter_add(&job->entries, &entry);
}

static int add_entries(struct flight_job *job)
{
    struct collectives_walk walk;
    const struct collective *ranks;
    int status = hang_facts_add_ranks(&job->trace, &job->fronts);
    collectives_walk_begin(&walk, &job->collectives.all);
    for (size_t count; status == 0 && (count = collectives_next(&walk, &ranks));) {
        int64_t finished = FIELD_ABSENT;
        for (size_t i = 0; i < count; i++) {
            int64_t end = ranks[i].start != FIELD_ABSENT ? ranks[i].start + ranks[i].duration : FIELD_ABSENT;
            finished = end != FIELD_ABSENT && (finished == FIELD_ABSENT || end < finished) ? end : finished;
        }
        status = hang_fronts_operation(&job->fronts, ranks, count);
        for (size_t i = 0; i < count && status == 0; i++)
            status = add_entry(job, &ranks[i], finished);
    }
    status = collectives_walk_end(&walk) ?: status;
    hang_fronts_end(&job->fronts);
    status = status ?: hang_facts_publish(&job->facts, &job->trace, &job->fronts);
    return status ?: sorter_ready(&job->entries);
}

/* --- ranks that did nothing in a group --- */

/* Returns the rank of the job at PLACE of the trace's list of the group's ranks, "[0, 4, 8]". Returns FIELD_ABSENT if
 * the list has no such place or was cut short. */
static int64_t listed_rank(const struct flight_job *job, const struct collective *own, int64_t place)
{
    const char *list = trace_text(&job->trace, own->group_ranks);
    if (strstr(list, "..."))
        return FIELD_ABSENT;
    int64_t rank = FIELD_ABSENT;
    return collective_find_in_list(list, &place, &rank) ? rank : FIELD_ABSENT;
}

static int add_silent_to(const struct flight_job *job, struct flight_group *group, int64_t world)
{
    const struct collective *one = &group->one;
    bool all = one->group_size == world;
    if (one->source >= 0) {
        const int32_t ends[2] = {group->one.source, group->one.target};
        for (unsigned i = 0; i < 2 && group->ranks.count < 2; i++) {
            /* Find the rank of the job that is this rank of the communicator. If the communicator has all ranks of the
             * job, both numbers are equal. */
            int64_t rank = listed_rank(job, &group->one, ends[i]),
                    member = hang_fronts_place(&job->fronts, &group->one, ends[i]);
            if (rank == FIELD_ABSENT && member >= 0)
                rank = job->fronts.members.items[member].rank;
            rank = rank == FIELD_ABSENT && group->one.group_size == world && ends[i] < world ? ends[i] : rank;
            if (rank != FIELD_ABSENT && add_rank(&group->ranks, rank) < 0)
                return -1;
        }
        return 0;
    }
    for (int64_t place = 0;; place++) {
        int64_t rank = !all ? listed_rank(job, one, place) : place < world ? place : FIELD_ABSENT;
        if (rank == FIELD_ABSENT)
            return 0;
        if (add_rank(&group->ranks, rank) < 0)
            return -1;
    }
}

int flight_job_read(struct flight_job *job, const char *input)
{
    const struct fields_receiver receiver = {.context = job, .event = read_event, .metadata = trace_receive_metadata};
    if (sources_read_fields(input, &job->trace.strings, &receiver, &(struct sources_options){0}) < 0)
        return -1;
    int64_t world = 0;
    int status = trace_finish(&job->trace, 1) ?: collectives_gather(&job->collectives, &job->trace) ?: add_entries(job);
    for (size_t i = 0; i < job->trace.ranks.count && status == 0; i++) {
        const struct trace_rank *rank = &job->trace.ranks.items[i];
        world = rank->world_size > world ? rank->world_size : world;
        status = add_rank(&job->ranks, rank->rank) < 0 ? -1 : 0;
    }
    world = world > (int64_t)job->ranks.count ? world : (int64_t)job->ranks.count;
    for (size_t i = 0; i < job->groups.count && status == 0; i++)
        status = add_silent_to(job, &job->groups.items[i], world);
    return status < 0 ? error_no_memory("operations") : 0;
}

/* --- an entry --- */

int64_t flight_place(const struct flight_group *group, int64_t rank)
{
    for (size_t i = 0; i < group->ranks.count; i++)
        if (group->ranks.items[i] == rank)
            return (int64_t)i;
    return -1;
}

/* fr_trace expects two ranks for a send, and fails on a rank's send to itself. */
bool flight_is_comparable(const struct flight_job *job, const struct flight_entry *entry)
{
    const struct flight_group *group = &job->groups.items[entry->group];
    return entry->own.sequence >= group->first && (group->one.source < 0 || group->ranks.count == 2);
}

const char *flight_state(const struct flight_job *job, const struct flight_entry *entry)
{
    const struct collective *own = &entry->own;
    const struct hang_member *member = NULL;
    const uint64_t rank = (uint64_t)own->rank;
    uint32_t known = dense_map_lookup(&job->rank_ids, &rank, sizeof(rank));
    /* Only one of several calls in an NCCL group has a kernel; the others have ended if a later operation has. */
    bool ended = known == DENSE_MAP_NONE || own->called <= job->done.items[known];
    if (!own->in_flight && (own->start != FIELD_ABSENT || (own->returned != FIELD_ABSENT && ended)))
        return "completed";
    for (size_t i = 0; i < job->fronts.members.count && !member; i++)
        if (job->fronts.members.items[i].rank == own->rank)
            member = &job->fronts.members.items[i];
    /* CUPTI may not have delivered the last GPU work of a process that ended. If another rank had finished the
     * operation by then, or shortly before, this rank does not wait in it. */
    if (entry->finished != FIELD_ABSENT && member && member->last != FIELD_ABSENT &&
        member->last - entry->finished < HANG_LEAST_NS)
        return "completed";
    /* The GPU still runs an operation that was launched before this one. */
    bool queued =
        member && member->gpu != EVENT_NO_TEXT && (own->called == FIELD_ABSENT || member->gpu_called <= own->called);
    return own->in_flight && !queued ? "started" : "scheduled";
}
