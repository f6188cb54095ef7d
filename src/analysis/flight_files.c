/*
 * The fields of a dump are those of PyTorch 2.11, version "2.10" of the format. Operations are sorted by rank and time.
 * The group of a dump is a communicator; sends and receives have a group for each direction between two ranks, because
 * fr_trace expects all ranks of a group in each operation.
 */
#include "analysis/flight_files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/base/options.h"
#include "analysis/base/order.h"
#include "analysis/base/pickle_out.h"
#include "analysis/model/collectives.h"
#include "analysis/model/trace.h"
#include "common/buffer.h"
#include "common/log.h"
#include "trace/build/sources.h"
#include "trace/event_fields.h"
#include "trace/output.h"

#define DUMP_VERSION "2.10"

/* fr_trace's words; NULL: it has none. */
static const char *const words[COLLECTIVE_KIND_COUNT] = {
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

struct group {
    struct collective one; /* of its operations */
    int64_t size;          /* ranks; EVENT_NONE: not known */
    ARRAY(int64_t) ranks;  /* of the job, in order after the last operation */
};

/* An operation of a rank. */
struct entry {
    int64_t rank, time;
    uint32_t group; /* index */
    struct collective own;
};

struct flight {
    struct trace trace;
    struct collectives collectives;
    ARRAY(struct group) groups;
    ARRAY(int64_t) ranks;      /* of the job, in order */
    struct dense_map rank_ids; /* a rank -> done */
    ARRAY(int64_t) done;       /* when it called the last operation whose kernel ended */
    struct sorter entries;
    const char *folder;
    bool replace;
    struct flight_files_summary *summary;
};

static int by_rank_and_time(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return ORDER(a->rank, b->rank)
               ?: ORDER(a->time, b->time) ?: ORDER(a->group, b->group) ?: ORDER(a->own.sequence, b->own.sequence);
}

/* --- the trace --- */

static int take_event(void *context, struct event_fields *event)
{
    struct flight *flight = context;
    if (trace_event(&flight->trace, event) < 0 || trace_gpu_op(&flight->trace, event) < 0 ||
        (event->collective != EVENT_NO_TEXT && collectives_event(&flight->collectives, &flight->trace, event) < 0))
        return error_no_memory("operations");
    return 0;
}

static int take_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct flight *flight = context;
    return trace_metadata(&flight->trace, key, value) < 0 ? error_no_memory("the trace's metadata") : 0;
}

static int read_trace(struct flight *flight, const char *input)
{
    struct fields_receiver receiver = {.context = flight, .event = take_event, .metadata = take_metadata};
    struct sink *sink = fields_sink_new(&flight->trace.strings, &receiver);
    int status = sink ? sources_read(input, sink, &(struct sources_options){0}) : -1;
    fields_sink_free(sink);
    if (status == 0 &&
        (trace_finish(&flight->trace, 1) < 0 || collectives_gather(&flight->collectives, &flight->trace) < 0))
        status = error_no_memory("operations");
    return status;
}

/* --- groups and ranks --- */

/* Adds RANK to the COUNT ranks in order. Returns 0, or -1: no memory. */
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
    return 0;
}

static bool same_group(const struct collective *a, const struct collective *b)
{
    return a->communicator == b->communicator && a->group_ranks == b->group_ranks && a->source == b->source &&
           a->target == b->target;
}

/* The group of an operation, the last one or a new one. NULL: no memory. */
static struct group *group_of(struct flight *flight, const struct collective *own)
{
    size_t count = flight->groups.count;
    if (count > 0 && same_group(&flight->groups.items[count - 1].one, own))
        return &flight->groups.items[count - 1];
    struct group *group = array_push(&flight->groups);
    if (group)
        *group = (struct group){.one = *own, .size = EVENT_NONE};
    return group;
}

static bool is_left_out(const struct flight *flight, const struct collective *own)
{
    const char *name = trace_text(&flight->trace, own->name);
    return own->rank == EVENT_NONE || !words[own->kind] || own->part > 0 || strncmp(name, "MPI_", strlen("MPI_")) == 0;
}

static int add_entry(struct flight *flight, const struct collective *own)
{
    struct entry entry = {.rank = own->rank, .time = own->called != EVENT_NONE ? own->called : own->start, .own = *own};
    if (is_left_out(flight, own)) {
        flight->summary->left_out++;
        return 0;
    }
    struct group *group = group_of(flight, own);
    if (!group || add_rank(&group->ranks, own->rank) < 0 || add_rank(&flight->ranks, own->rank) < 0)
        return -1;
    const uint64_t rank = (uint64_t)own->rank;
    int64_t *done = own->start != EVENT_NONE ? dense_map_item(&flight->rank_ids, &rank, &flight->done) : NULL;
    if (own->start != EVENT_NONE && !done)
        return -1;
    if (done && entry.time > *done)
        *done = entry.time;
    group->size = own->source >= 0 ? 2 : own->group_size != EVENT_NONE ? own->group_size : group->size;
    entry.group = (uint32_t)(group - flight->groups.items);
    flight->summary->entries++;
    return sorter_add(&flight->entries, &entry);
}

static int add_entries(struct flight *flight)
{
    struct collectives_walk walk;
    const struct collective *ranks;
    int status = 0;
    collectives_walk_begin(&walk, &flight->collectives);
    for (size_t count; status == 0 && (count = collectives_next(&walk, &ranks));)
        for (size_t i = 0; i < count && status == 0; i++)
            status = add_entry(flight, &ranks[i]);
    int walked = collectives_walk_end(&walk);
    return status ? status : walked ? walked : sorter_ready(&flight->entries);
}

/* The ranks of the job that did nothing are known from the metadata; they belong to the groups that have all ranks. */
static int add_silent_ranks(struct flight *flight)
{
    int64_t world = 0;
    for (size_t i = 0; i < flight->trace.ranks.count; i++) {
        const struct trace_rank *rank = &flight->trace.ranks.items[i];
        world = rank->world_size > world ? rank->world_size : world;
        if (add_rank(&flight->ranks, rank->rank) < 0)
            return -1;
    }
    world = world > (int64_t)flight->ranks.count ? world : (int64_t)flight->ranks.count;
    for (size_t i = 0; i < flight->groups.count; i++) {
        struct group *group = &flight->groups.items[i];
        for (int64_t rank = 0; group->size == world && rank < world; rank++)
            if (add_rank(&group->ranks, rank) < 0)
                return -1;
    }
    return 0;
}

static bool has_rank(const struct group *group, int64_t rank)
{
    for (size_t i = 0; i < group->ranks.count; i++)
        if (group->ranks.items[i] == rank)
            return true;
    return false;
}

/* --- a file --- */

static void put_key(struct buffer *out, const char *key, const char *text)
{
    pickle_text(out, key);
    pickle_text(out, text);
}

static void put_number(struct buffer *out, const char *key, int64_t number)
{
    pickle_text(out, key);
    pickle_i64(out, number);
}

/* EVENT_NONE is None. */
static void put_time(struct buffer *out, const struct flight *flight, const char *key, int64_t time)
{
    pickle_text(out, key);
    if (time == EVENT_NONE)
        pickle_none(out);
    else
        pickle_i64(out, time + flight->trace.base);
}

/* "0x5d2c…", and of sends "0x5d2c… 1->3". */
static const char *group_name(const struct flight *flight, const struct group *group, char name[256])
{
    const char *communicator = trace_text(&flight->trace, group->one.communicator);
    if (group->one.source < 0)
        snprintf(name, 256, "%s", communicator);
    else
        snprintf(name, 256, "%.200s %" PRId32 "->%" PRId32, communicator, group->one.source, group->one.target);
    return name;
}

static void put_groups(struct buffer *out, const struct flight *flight, int64_t rank)
{
    struct buffer list;
    char name[256];
    buffer_init_memory(&list);
    pickle_text(out, "pg_config");
    pickle_begin_dict(out);
    for (size_t i = 0; i < flight->groups.count; i++) {
        const struct group *group = &flight->groups.items[i];
        if (!has_rank(group, rank))
            continue;
        list.length = 0;
        for (size_t k = 0; k < group->ranks.count; k++)
            buffer_format(&list, "%s%" PRId64, k > 0 ? ", " : "[", group->ranks.items[k]);
        buffer_bytes(&list, "]", 2);
        pickle_text(out, group_name(flight, group, name));
        pickle_begin_dict(out);
        put_key(out, "name", name);
        put_key(out, "desc", "undefined");
        put_key(out, "ranks", list.failure ? "[]" : list.data);
        pickle_end_dict(out);
    }
    pickle_end_dict(out);
    out->failure = out->failure ? out->failure : list.failure;
    buffer_release(&list);
}

static void put_name(struct buffer *out, const struct group *group, const struct collective *own)
{
    char name[64];
    bool forward = group->one.source <= group->one.target; /* of two ranks the lower one is rank 0 of the group */
    if (own->kind == COLLECTIVE_SEND)
        snprintf(name, sizeof(name), "nccl:send %s", forward ? "0->1" : "1->0");
    else if (own->kind == COLLECTIVE_RECV)
        snprintf(name, sizeof(name), "nccl:recv %s", forward ? "1<-0" : "0<-1");
    else
        snprintf(name, sizeof(name), "nccl:%s", words[own->kind]);
    put_key(out, "profiling_name", name);
}

/* [[ELEMENTS]], and ["Float"]. */
static void put_tensor(struct buffer *out, const char *sizes, const char *types, int64_t elements, const char *type)
{
    pickle_text(out, sizes);
    pickle_begin_list(out);
    pickle_begin_list(out);
    pickle_i64(out, elements);
    pickle_end_list(out);
    pickle_end_list(out);
    pickle_text(out, types);
    pickle_begin_list(out);
    pickle_text(out, type);
    pickle_end_list(out);
}

static void put_tensors(struct buffer *out, const struct flight *flight, const struct group *group,
                        const struct collective *own)
{
    const char *type = own->dtype == EVENT_NO_TEXT ? "Byte" : trace_text(&flight->trace, own->dtype);
    int64_t each = collective_type_bytes(type), ranks = (int64_t)group->ranks.count;
    int64_t whole = own->bytes == EVENT_NONE ? 0 : own->bytes / (each > 0 ? each : 1), part = whole / ranks;
    bool spreads = own->kind == COLLECTIVE_REDUCESCATTER || own->kind == COLLECTIVE_SCATTER;
    bool collects = own->kind == COLLECTIVE_ALLGATHER || own->kind == COLLECTIVE_GATHER;
    put_tensor(out, "input_sizes", "input_dtypes", collects ? part : spreads ? part * ranks : whole, type);
    put_tensor(out, "output_sizes", "output_dtypes", spreads ? part : collects ? part * ranks : whole, type);
}

/* Of several calls in a group one has the kernel: the others ended if a later operation did. */
static const char *state_of(const struct flight *flight, const struct collective *own)
{
    const uint64_t rank = (uint64_t)own->rank;
    uint32_t known =
        dense_map_find(&flight->rank_ids, &rank, (struct dense_layout){1, 1, false}, dense_map_hash(&rank, 1));
    if (own->in_flight)
        return "started";
    if (own->start != EVENT_NONE)
        return "completed";
    bool ended = known == DENSE_MAP_NONE || own->called <= flight->done.items[known];
    return own->returned != EVENT_NONE && ended ? "completed" : "scheduled";
}

static void put_entry(struct buffer *out, const struct flight *flight, const struct entry *entry, int64_t number)
{
    const struct group *group = &flight->groups.items[entry->group];
    const struct collective *own = &entry->own;
    bool done = own->start != EVENT_NONE, pair = own->source >= 0;
    char name[256];
    pickle_begin_dict(out);
    put_number(out, "record_id", number);
    put_number(out, "pg_id", entry->group);
    put_key(out, "process_group", group_name(flight, group, name));
    pickle_text(out, "undefined");
    pickle_pair(out);
    put_number(out, "collective_seq_id", own->sequence);
    put_number(out, "p2p_seq_id", pair ? own->sequence : 0);
    put_number(out, "op_id", number);
    put_name(out, group, own);
    put_time(out, flight, "time_created_ns", entry->time);
    if (done) {
        pickle_text(out, "duration_ms");
        pickle_real(out, (double)own->duration / 1e6);
    }
    put_tensors(out, flight, group, own);
    put_key(out, "state", state_of(flight, own));
    put_time(out, flight, "time_discovered_started_ns", own->start);
    put_time(out, flight, "time_discovered_completed_ns", done ? own->start + own->duration : EVENT_NONE);
    pickle_text(out, "retired");
    pickle_bool(out, strcmp(state_of(flight, own), "completed") == 0);
    put_number(out, "timeout_ms", 0);
    pickle_text(out, "is_p2p");
    pickle_bool(out, pair);
    pickle_text(out, "frames");
    pickle_begin_list(out);
    pickle_end_list(out);
    pickle_end_dict(out);
}

/* What comes before and after the entries of a rank. */
static void begin_dump(struct buffer *out, const struct flight *flight, int64_t rank)
{
    pickle_begin(out);
    pickle_begin_dict(out);
    put_key(out, "version", DUMP_VERSION);
    put_groups(out, flight, rank);
    pickle_text(out, "pg_status");
    pickle_begin_dict(out);
    pickle_end_dict(out);
    pickle_text(out, "entries");
    pickle_begin_list(out);
}

static void end_dump(struct buffer *out)
{
    pickle_end_list(out);
    pickle_end_dict(out);
    pickle_end(out);
}

/* Writes the file of RANK, whose entries are NEXT and those after it in WALK. Sets *NEXT to the first of another rank.
 */
static int write_rank(const struct flight *flight, int64_t rank, struct sorter_walk *walk, const struct entry **next)
{
    char path[PATH_MAX];
    struct output output;
    struct stat status;
    uint64_t bytes;
    int length = snprintf(path, sizeof(path), "%s/rank_%" PRId64, flight->folder, rank);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error("'%s' is too long a name", flight->folder);
    if (!flight->replace && lstat(path, &status) == 0)
        return error("'%s' is there already: --force replaces it", path);
    if (output_open(&output, path) != 0)
        return -1;
    begin_dump(&output.buffer, flight, rank);
    for (int64_t number = 0; *next && (*next)->rank == rank; *next = sorter_next(walk))
        put_entry(&output.buffer, flight, *next, number++);
    end_dump(&output.buffer);
    return output_commit(&output, &bytes);
}

static int write_ranks(const struct flight *flight)
{
    struct sorter_walk walk;
    int status = 0;
    if (mkdir(flight->folder, 0777) != 0 && errno != EEXIST)
        return error("cannot make the folder '%s': %s", flight->folder, strerror(errno));
    sorter_walk_begin(&walk, &flight->entries);
    const struct entry *next = sorter_next(&walk);
    for (size_t i = 0; i < flight->ranks.count && status == 0; i++)
        status = write_rank(flight, flight->ranks.items[i], &walk, &next);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked ? error_no_memory("operations") : 0;
}

static int convert(struct flight *flight, const char *input)
{
    if (read_trace(flight, input) < 0)
        return -1;
    if (add_entries(flight) < 0 || add_silent_ranks(flight) < 0)
        return error_no_memory("operations");
    flight->summary->ranks = flight->ranks.count;
    if (flight->ranks.count == 0)
        return error("'%s' has no communication of ranks whose numbers are known", input);
    return write_ranks(flight);
}

int flight_files_convert(const char *input, const char *folder, bool replace, struct flight_files_summary *summary)
{
    static const struct report_options options;
    struct flight flight = {.folder = folder, .replace = replace, .summary = summary};
    *summary = (struct flight_files_summary){0};
    trace_init(&flight.trace, &options);
    collectives_init(&flight.collectives, flight.trace.space);
    sorter_init(&flight.entries, flight.trace.space, sizeof(struct entry), by_rank_and_time);
    int status = convert(&flight, input);
    for (size_t i = 0; i < flight.groups.count; i++)
        array_release(&flight.groups.items[i].ranks);
    array_release(&flight.groups);
    array_release(&flight.ranks);
    array_release(&flight.done);
    dense_map_release(&flight.rank_ids);
    sorter_release(&flight.entries);
    collectives_release(&flight.collectives);
    trace_release(&flight.trace);
    return status;
}
