/*
 * Two walks over all operations: the first feeds the clocks of the hosts, the second adds the waits, with corrected
 * times.
 */
#include "analysis/job/job_finish.h"

#include "common/log.h"
#include "common/array.h"
#include "analysis/job/job.h"
#include "analysis/ranks/rank_times.h"

/* --- hosts --- */

/* Lists the hosts. That of the rank with the lowest number comes first. */
static int find_hosts(struct job_whole *job)
{
    const struct rank *first = &job->ranks.items.items[0];
    for (size_t i = 1; i < job->ranks.items.count; i++)
        if (job->ranks.items.items[i].rank < first->rank)
            first = &job->ranks.items.items[i];
    if (!ADD(array_push, &job->hosts, first->host))
        return -1;
    for (size_t i = 0; i < job->ranks.items.count; i++) {
        uint32_t name = job->ranks.items.items[i].host, host = 0;
        while (host < job->hosts.count && job->hosts.items[host] != name)
            host++;
        if (!ADD(array_push, &job->host_of, host) || (host == job->hosts.count && !ADD(array_push, &job->hosts, name)))
            return -1;
    }
    return 0;
}

/* --- operations --- */

/* A walk over operations of all ranks. */
struct operations {
    struct sorter_walk walk;
    ARRAY(struct collective) ranks;
    ARRAY(uint32_t) index;
    const struct collective *next;
    bool no_memory;
};

/* Reads the next operation. Returns the number of its ranks; 0 if there is none, or without memory. */
static size_t next_operation(struct operations *operations)
{
    operations->ranks.count = operations->index.count = 0;
    while (operations->next && (operations->ranks.count == 0 ||
                                collective_compare_operation(&operations->ranks.items[0], operations->next) == 0)) {
        operations->no_memory = !ADD(array_push, &operations->ranks, *operations->next) ||
                                !ADD(array_push, &operations->index, operations->next->process);
        if (operations->no_memory)
            return 0;
        operations->next = sorter_next(&operations->walk);
    }
    return operations->ranks.count;
}

static int each_operation(struct job_whole *job, int (*each)(struct job_whole *job, struct operations *operations))
{
    struct operations operations = {0};
    int status = 0;
    sorter_walk_begin(&operations.walk, &job->collectives);
    operations.next = sorter_next(&operations.walk);
    while (status == 0 && next_operation(&operations) > 0)
        status = each(job, &operations);
    int walked = sorter_walk_end(&operations.walk);
    array_release(&operations.ranks);
    array_release(&operations.index);
    return status ? status : walked ? walked : operations.no_memory ? -1 : 0;
}

static int add_to_clocks(struct job_whole *job, struct operations *operations)
{
    int status = 0;
    job_clocks_begin(&job->clocks);
    for (size_t i = 0; i < operations->ranks.count && status == 0; i++) {
        const struct collective *one = &operations->ranks.items[i];
        int64_t start, duration;
        if (one->process == RANK_NONE || !comm_times(one, &start, &duration))
            continue;
        bool root = one->peer != FIELD_ABSENT && one->peer == one->group_rank;
        const struct job_clock_member member = {.host = job->host_of.items[one->process],
                                                .roles = job_clock_roles(trace_text(&job->trace, one->name), root),
                                                .enter = start,
                                                .leave = start + duration};
        status = job_clocks_member(&job->clocks, &member);
    }
    return status ?: job_clocks_end(&job->clocks);
}

/* What ranks did at the end. */
static int correct_members(struct job_whole *job)
{
    for (size_t i = 0; i < job->ranks.items.count; i++) {
        const struct job_clock *clock = &job->clocks.items.items[job->host_of.items[i]];
        struct hang_member *member = hang_fronts_member(&job->hangs.fronts, job->ranks.items.items[i].rank, 0);
        if (!member)
            return -1;
        int64_t *const times[] = {&member->last, &member->gpu_since, &member->gpu_called, &member->host_since,
                                  &member->init_since};
        for (size_t k = 0; k < sizeof(times) / sizeof(*times); k++)
            *times[k] = job_clock_correct(clock, *times[k]);
    }
    return 0;
}

static int add_to_sums(struct job_whole *job, struct operations *operations)
{
    for (size_t i = 0; i < operations->ranks.count; i++) {
        struct collective *one = &operations->ranks.items[i];
        int64_t *const times[] = {&one->start, &one->called, &one->returned};
        for (size_t k = 0; one->process != RANK_NONE && k < sizeof(times) / sizeof(*times); k++)
            *times[k] = job_clock_correct(&job->clocks.items.items[job->host_of.items[one->process]], *times[k]);
    }
    return ranks_add_operation(&job->ranks, operations->ranks.items, operations->index.items, operations->ranks.count)
               ?: comm_add(&job->comm, operations->ranks.items, operations->ranks.count)
               ?: hang_fronts_operation(&job->hangs.fronts, operations->ranks.items, operations->ranks.count);
}

int job_finish(struct job_whole *job)
{
    int status = find_hosts(job) ?: sorter_ready(&job->collectives);
    if (status == 0 && job->trace.options->names == REPORT_NAMES_PRETTY)
        status = pretty_names_make(&job->trace.pretty_names, &job->trace.strings)
                     ?: pretty_names_make(&job->ranks.pretty, &job->ranks.texts);
    if (status < 0)
        return error_no_memory("a report of a job");
    status = job_clocks_init(&job->clocks, (uint32_t)job->hosts.count);
    if (status == 0 && job->hosts.count > 1)
        status = each_operation(job, add_to_clocks);
    if (status == 0)
        status = job_clocks_solve(&job->clocks);
    if (status == 0)
        status = correct_members(job);
    for (size_t i = 0; i < job->ranks.steps.count && status == 0; i++) {
        struct rank_step *step = &job->ranks.steps.items[i];
        const struct job_clock *clock = &job->clocks.items.items[job->host_of.items[step->rank]];
        step->from = job_clock_correct(clock, step->from);
        step->to = job_clock_correct(clock, step->to);
    }
    if (status == 0)
        status = each_operation(job, add_to_sums);
    status = status ?: hangs_finish(&job->hangs);
    return status < 0 ? error_no_memory("a report of a job") : 0;
}
