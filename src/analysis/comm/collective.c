/*
 * Kinds and types: compares the letters and digits of a name, in lower case and without a prefix such as "nccl", with
 * tables of words.
 *
 * Groups: sorts the operations by process and group call, so that the calls of a kernel come first and further kernels
 * (replays of a graph) after them. One walk then sets the times of each kernel in all calls of its group.
 */
#include "analysis/comm/collective.h"

#include <ctype.h>
#include <string.h>

#include "common/array.h"
#include "analysis/base/busy.h"
#include "analysis/gpu/temporal.h"
#include "analysis/engine/trace.h"
#include "analysis/names/name_facts.h"

const char *const collective_words[] = {"",
#define KIND(constant, word) word,
                                        COLLECTIVE_KINDS(KIND)
#undef KIND
};

/* Sets WORD to the letters and digits of TEXT in lower case, at most COLLECTIVE_WORD - 1 of them. */
static void plain_word(const char *text, char word[COLLECTIVE_WORD])
{
    size_t length = 0;
    for (; *text && length < COLLECTIVE_WORD - 1; text++)
        if (isalnum((unsigned char)*text))
            word[length++] = (char)tolower((unsigned char)*text);
    word[length] = '\0';
}

static const char *after_prefix(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(word, prefix, length) == 0 ? word + length : word;
}

static enum collective_kind kind_of_word(const char *word)
{
    for (unsigned kind = 1; kind < COLLECTIVE_KIND_COUNT; kind++)
        if (after_prefix(word, collective_words[kind]) != word)
            return (enum collective_kind)kind;
    if (after_prefix(word, "bcast") != word)
        return COLLECTIVE_BROADCAST;
    return after_prefix(word, "irecv") != word ? COLLECTIVE_RECV : COLLECTIVE_OTHER;
}

const char *collective_plain_name(const char *name, char word[COLLECTIVE_WORD])
{
    plain_word(name, word);
    return after_prefix(after_prefix(after_prefix(word, "c10d"), "nccl"), "mpi");
}

enum collective_kind collective_kind_of(const char *name)
{
    char plain[COLLECTIVE_WORD];
    const char *word = collective_plain_name(name, plain);
    enum collective_kind kind = kind_of_word(word);
    return kind == COLLECTIVE_OTHER && *word == 'i' ? kind_of_word(word + 1) : kind; /* MPI_Iallreduce */
}

enum collective_kind collective_kind_of_kernel(const char *name)
{
    const char *reduces = "crossdevicereduce"; /* an all-reduce, of vLLM and SGLang */
    if (communication_find_word(name, &reduces, 1) == 0)
        return COLLECTIVE_ALLREDUCE;
    size_t kind = communication_find_word(name, collective_words + 1, COLLECTIVE_KIND_COUNT - 1) + 1;
    return kind < COLLECTIVE_KIND_COUNT ? (enum collective_kind)kind : COLLECTIVE_OTHER;
}

int64_t collective_type_bytes(const char *type)
{
    static const struct {
        const char *word;
        int64_t bytes;
    } types[] = {
        {"complexhalf", 4}, {"complexfloat", 8}, {"complexdouble", 16}, {"byte", 1},     {"char", 1},
        {"bool", 1},        {"short", 2},        {"half", 2},           {"bfloat16", 2}, {"double", 8},
        {"long", 8},        {"uint64", 8},       {"int64", 8},          {"uint32", 4},   {"int32", 4},
        {"uint16", 2},      {"int16", 2},        {"uint8", 1},          {"int8", 1},     {"float64", 8},
        {"float32", 4},     {"float16", 2},      {"float8", 1},         {"float", 4},    {"int", 4},
    };
    char plain[COLLECTIVE_WORD];
    plain_word(type, plain);
    const char *word = after_prefix(after_prefix(after_prefix(plain, "c10"), "torch"), "nccl");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (after_prefix(word, types[i].word) != word)
            return types[i].bytes;
    return 0;
}

int64_t collective_elements(enum collective_kind kind, int64_t in, int64_t out, int64_t group_size)
{
    int64_t elements = in > out ? in : out, whole;
    int64_t own = kind == COLLECTIVE_GATHER ? in : out, all = kind == COLLECTIVE_GATHER ? out : in;
    if (all <= own && (kind == COLLECTIVE_GATHER || kind == COLLECTIVE_SCATTER) && own >= 0 && group_size > 0 &&
        !__builtin_mul_overflow(own, group_size, &whole))
        return whole;
    return elements;
}

double collective_bus_factor(enum collective_kind kind, int64_t group_size)
{
    double ranks = (double)group_size;
    switch (kind) {
    case COLLECTIVE_ALLREDUCE: return group_size > 0 ? 2 * (ranks - 1) / ranks : 0;
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCESCATTER:
    case COLLECTIVE_ALLTOALL:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER: return group_size > 0 ? (ranks - 1) / ranks : 0;
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SENDRECV:
    case COLLECTIVE_SEND:
    case COLLECTIVE_RECV: return 1;
    default: return 0;
    }
}

/* --- groups of calls that one kernel does --- */

void collective_add_kernel(struct collective *call, const struct collective *kernel)
{
    call->start = kernel->start;
    call->duration = kernel->duration;
    call->device = kernel->device;
    call->stream = kernel->stream;
    call->in_flight = kernel->in_flight;
    call->bytes = call->bytes == FIELD_ABSENT ? kernel->bytes : call->bytes;
    call->group_size = call->group_size == FIELD_ABSENT ? kernel->group_size : call->group_size;
    call->group_ranks = call->group_ranks == EVENT_NO_TEXT ? kernel->group_ranks : call->group_ranks;
    call->dtype = call->dtype == EVENT_NO_TEXT ? kernel->dtype : call->dtype;
}

static bool has_kernel(const struct collective *one)
{
    return one->start != FIELD_ABSENT || one->in_flight;
}

/* Puts the calls of a group before its further kernels, which are replays of a graph. */
int collective_groups_order(const void *left, const void *right)
{
    const struct collective *a = left, *b = right;
    return ORDER(a->pid, b->pid)
               ?: ORDER(a->group_call, b->group_call)
               ?: ORDER(a->called == FIELD_ABSENT, b->called == FIELD_ABSENT)
               ?: ORDER(a->called, b->called)
               ?: ORDER(a->part, b->part)
               ?: ORDER(a->communicator, b->communicator) ?: ORDER(a->sequence, b->sequence);
}

/* The calls of one kernel. */
struct group {
    ARRAY(struct collective) calls;
    collective_receiver *receive;
    void *context;
    size_t leader;            /* index of the call that the kernel names; calls.count: none */
    int64_t bytes, bus_bytes; /* of all operations of the kernel; FIELD_ABSENT: unknown */
};

/* --- bytes of a kernel --- */

/* Sums of bytes of operations. Sends and receives are summed separately, because they run at the same time. */
struct bytes {
    bool known;
    double others, sent, received;
};

static void add_bytes(struct bytes *sum, const struct collective *one, double factor)
{
    double bytes = (double)one->bytes * factor;
    sum->known = sum->known && one->bytes != FIELD_ABSENT;
    if (one->kind == COLLECTIVE_SEND)
        sum->sent += bytes;
    else if (one->kind == COLLECTIVE_RECV)
        sum->received += bytes;
    else
        sum->others += bytes;
}

static int64_t all_bytes(const struct bytes *sum)
{
    double bytes = sum->others + (sum->sent > sum->received ? sum->sent : sum->received);
    return sum->known && bytes < 0x1p62 ? (int64_t)bytes : FIELD_ABSENT;
}

/* Publishes the call that the kernel names, with the bytes of the whole group. */
static int publish_leader(const struct group *group, const struct collective *one)
{
    struct collective leader = *one;
    leader.kernel_bytes = group->bytes;
    leader.kernel_bus_bytes = group->bus_bytes;
    return group->receive(group->context, &leader);
}

/* --- kernels --- */

/* Publishes all calls but the leader with the times of KERNEL. REPLAY: each call becomes a further operation, of a
 * replayed graph. */
static int publish_kernel(const struct group *group, const struct collective *kernel, bool replay)
{
    int status = 0;
    for (size_t i = 0; i < group->calls.count && status == 0; i++) {
        struct collective one = group->calls.items[i];
        if (i == group->leader || (!replay && has_kernel(&one)))
            continue;
        if (replay) {
            one.called = one.returned = FIELD_ABSENT;
            one.part = kernel->part;
        }
        collective_add_kernel(&one, kernel);
        one.joint = 1;
        status = group->receive(group->context, &one);
    }
    return status;
}

/* Publishes the calls of a group. Call it after the last one was read. */
static int publish_calls(struct group *group)
{
    int status = 0;
    group->leader = 0;
    while (group->leader < group->calls.count && !has_kernel(&group->calls.items[group->leader]))
        group->leader++;
    bool any = group->leader < group->calls.count;
    struct bytes all = {.known = true}, bus = {.known = true};
    for (size_t i = 0; i < group->calls.count; i++) {
        const struct collective *one = &group->calls.items[i];
        if (i != group->leader && has_kernel(one))
            continue;
        /* Bytes that a rank sends to itself do not cross a bus. */
        enum collective_kind kind = (enum collective_kind)one->kind;
        bool to_itself = collective_is_pairwise(kind) && one->source == one->target;
        add_bytes(&all, one, 1);
        add_bytes(&bus, one, to_itself ? 0 : collective_bus_factor(kind, one->group_size));
    }
    group->bytes = all_bytes(&all);
    group->bus_bytes = all_bytes(&bus);
    for (size_t i = 0; i < group->calls.count && status == 0; i++)
        if (i == group->leader)
            status = publish_leader(group, &group->calls.items[i]);
        else if (!any || has_kernel(&group->calls.items[i]))
            status = group->receive(group->context, &group->calls.items[i]);
    return status || !any ? status : publish_kernel(group, &group->calls.items[group->leader], false);
}

int collective_groups_join(struct sorter *grouped, collective_receiver *receive, void *context)
{
    struct sorter_walk walk;
    const struct collective *next;
    struct collective last = {0};
    struct group group = {.receive = receive, .context = context};
    int status = sorter_ready(grouped);
    bool published = true; /* the calls of the group are published */
    if (status != 0)
        return status;
    sorter_walk_begin(&walk, grouped);
    while (status == 0 && (next = sorter_next(&walk))) {
        bool another = next->pid != last.pid || next->group_call != last.group_call;
        last = *next;
        if (!published && (another || last.called == FIELD_ABSENT)) {
            status = publish_calls(&group);
            published = true;
        }
        if (another)
            group.calls.count = group.leader = 0;
        published = published && last.called == FIELD_ABSENT;
        if (status != 0)
            break;
        if (last.called != FIELD_ABSENT)
            status = ADD(array_push, &group.calls, last) ? 0 : -1;
        else if (group.leader < group.calls.count)
            status = publish_leader(&group, &last) ?: publish_kernel(&group, &last, true);
        else
            status = receive(context, &last);
    }
    if (status == 0 && !published)
        status = publish_calls(&group);
    int walked = sorter_walk_end(&walk);
    array_release(&group.calls);
    return status ?: walked;
}

/* --- exposed time --- */

struct point {
    int64_t time;
    uint64_t number;
    uint32_t device;
    bool end;
};

ORDER_BY(by_device_and_time, struct point, device, time, number, end)

/* The walk over the timeline, and the computing time on the current device. */
struct busy_walk {
    const struct trace *trace;
    struct sorter_walk walk;
    const struct timeline_op *next;
    struct temporal_names names;
    uint32_t device;
    struct busy_sum computed;
    bool no_memory;
};

/* Returns how long DEVICE had computed until TIME, ns. Calls come in rising order of devices and times. */
static int64_t computed_by(struct busy_walk *busy, uint32_t device, int64_t time)
{
    const struct timeline_op *op = busy->next;
    const struct busy_sum *computed = &busy->computed;
    for (; op && (op->device < device || (op->device == device && op->start <= time)); op = sorter_next(&busy->walk)) {
        unsigned kind = temporal_kind(&busy->names, busy->trace, op);
        busy->no_memory |= kind == 0;
        if (op->device != busy->device)
            busy->computed = (struct busy_sum){0};
        busy->device = op->device;
        if (kind == TEMPORAL_COMPUTE)
            busy_sum_add(&busy->computed, op->start, op->end);
    }
    busy->next = op;
    if (!computed->any || busy->device != device)
        return 0;
    return computed->total - (computed->until > time ? computed->until - time : 0);
}

int collectives_expose(struct collective *items, size_t count, const struct trace *trace)
{
    struct busy_walk busy = {.trace = trace};
    struct sorter points;
    struct sorter_walk walk;
    const struct point *point;
    int status = 0;
    sorter_init(&points, trace->space, sizeof(struct point), by_device_and_time);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct collective *one = &items[i];
        if (one->start == FIELD_ABSENT || one->device == COLLECTIVE_NO_INDEX)
            continue;
        const struct point ends[] = {{one->start, i, one->device, false},
                                     {one->start + one->duration, i, one->device, true}};
        status = sorter_add(&points, &ends[0]) ?: sorter_add(&points, &ends[1]);
    }
    status = status ?: sorter_ready(&points);
    if (status == 0) {
        sorter_walk_begin(&busy.walk, &trace->timeline);
        sorter_walk_begin(&walk, &points);
        busy.next = sorter_next(&busy.walk);
        while (!busy.no_memory && (point = sorter_next(&walk))) {
            struct collective *one = &items[point->number];
            int64_t computed = computed_by(&busy, point->device, point->time);
            /* Between the two points, `exposed` holds the computing time until the start. */
            one->exposed = point->end ? one->duration - (computed - one->exposed) : computed;
        }
        array_release(&busy.names.communication);
        int walked = sorter_walk_end(&walk), ops = sorter_walk_end(&busy.walk);
        status = walked || ops || busy.no_memory ? -1 : 0;
    }
    sorter_release(&points);
    return status;
}
