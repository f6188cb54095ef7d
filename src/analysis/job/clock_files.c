/*
 * The members of all operations go to a sorter, under a hash of what identifies the operation on all ranks. Sorted, the
 * members of an operation are neighbours.
 */
#include "analysis/job/clock_files.h"

#include <string.h>

#include "analysis/base/options.h"
#include "analysis/comm/collectives.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_reader.h"
#include "analysis/ranks/comm.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"
#include "trace/meaning/sources.h"
#include "trace/fields_receiver.h"

/* A rank in an operation. */
struct member {
    uint64_t operation; /* hash */
    int64_t enter, leave;
    uint32_t host, roles;
};

struct finding {
    const char *const *hosts;
    size_t host_count;
    struct sorter_space space;
    struct sorter members;
};

ORDER_BY(by_operation, struct member, operation, host, enter, leave, roles)

/* --- one trace --- */

struct reading {
    struct trace trace;       /* must be first: trace_receive_metadata() gets the struct as a trace */
    uint32_t host_text, host; /* the host name of the last rank, and its number */
    struct collectives collectives;
};

static int read_event(void *context, struct event_fields *event)
{
    struct reading *reading = context;
    if (trace_receive_event(&reading->trace, event) < 0)
        return -1;
    if (event_communicates(event) && collectives_event(&reading->collectives, &reading->trace, event) < 0)
        return error_no_memory("operations of several ranks");
    return 0;
}

static uint64_t hash_of(const struct trace *trace, const struct collective *one)
{
    const char *communicator = trace_text(trace, one->communicator), *ranks = trace_text(trace, one->group_ranks);
    const uint64_t key[] = {
        hash_bytes(communicator, strlen(communicator)),
        hash_bytes(ranks, strlen(ranks)),
        (uint64_t)one->source,
        (uint64_t)one->target,
        (uint64_t)one->sequence,
        one->part,
    };
    return hash_bytes(key, sizeof(key));
}

static int add_members(struct finding *finding, const struct clock_file *file, struct reading *reading)
{
    const struct trace *trace = &reading->trace;
    struct collectives_walk walk;
    const struct collective *ranks;
    size_t count;
    int status = 0;
    collectives_walk_begin(&walk, &reading->collectives.all);
    while (status == 0 && (count = collectives_next(&walk, &ranks)) > 0)
        for (size_t i = 0; i < count && status == 0; i++) {
            const struct collective *one = &ranks[i];
            const struct trace_rank *rank = trace_rank_of(trace, one->pid);
            int64_t start, duration;
            if (rank && rank->host != EVENT_NO_TEXT && reading->host_text != rank->host) {
                reading->host_text = rank->host;
                reading->host = file->host;
                for (uint32_t k = (uint32_t)finding->host_count; k-- > 0;)
                    if (finding->hosts[k] && strcmp(finding->hosts[k], trace_text(trace, rank->host)) == 0)
                        reading->host = k;
            }
            bool root = one->peer != FIELD_ABSENT && one->peer == one->group_rank;
            struct member member = {.operation = hash_of(trace, one),
                                    .host = rank && rank->host != EVENT_NO_TEXT ? reading->host : file->host,
                                    .roles = job_clock_roles(trace_text(trace, one->name), root)};
            if (member.roles == 0 || !comm_times(one, &start, &duration))
                continue;
            member.enter = file->base + start;
            member.leave = member.enter + duration;
            status = sorter_add(&finding->members, &member);
        }
    return collectives_walk_end(&walk) ?: status;
}

/* --- all traces --- */

static int add_operations(struct finding *finding, struct job_clocks *clocks)
{
    struct sorter_walk walk;
    const struct member *member;
    uint64_t operation = 0;
    bool any = false;
    int status = 0;
    sorter_walk_begin(&walk, &finding->members);
    while (status == 0 && (member = sorter_next(&walk))) {
        const struct job_clock_member added = {member->host, member->roles, member->enter, member->leave};
        if (any && member->operation != operation)
            status = job_clocks_end(clocks);
        if (!any || member->operation != operation)
            job_clocks_begin(clocks);
        any = true;
        operation = member->operation;
        status = status ? status : job_clocks_member(clocks, &added);
    }
    if (any && status == 0)
        status = job_clocks_end(clocks);
    return sorter_walk_end(&walk) < 0 ? error_no_memory("operations of several ranks") : status;
}

int clock_files_find(const struct clock_file *files, size_t count, const char *const *hosts, size_t host_count,
                     struct job_clocks *clocks)
{
    struct finding finding = {.hosts = hosts, .host_count = host_count, .space = sorter_space_usual()};
    sorter_init(&finding.members, &finding.space, sizeof(struct member), by_operation);
    int status = job_clocks_init(clocks, (uint32_t)host_count);
    for (size_t i = 0; i < count && status == 0; i++) {
        static const struct report_options options;
        struct reading reading = {.host_text = EVENT_NO_TEXT};
        const struct fields_receiver receiver = {
            .context = &reading, .event = read_event, .metadata = trace_receive_metadata};
        trace_init(&reading.trace, &options);
        collectives_init(&reading.collectives, reading.trace.space);
        status = sources_read_fields(files[i].path, &reading.trace.strings, &receiver, &(struct sources_options){0});
        if (status == 0 &&
            (trace_finish(&reading.trace, 1) < 0 || collectives_gather(&reading.collectives, &reading.trace) < 0 ||
             add_members(&finding, &files[i], &reading) < 0))
            status = error_no_memory("operations of several ranks");
        collectives_release(&reading.collectives);
        trace_release(&reading.trace);
    }
    if (status == 0 && sorter_ready(&finding.members) < 0)
        status = error_no_memory("operations of several ranks");
    if (status == 0)
        status = add_operations(&finding, clocks);
    if (status == 0)
        status = job_clocks_solve(clocks);
    sorter_release(&finding.members);
    return status;
}
