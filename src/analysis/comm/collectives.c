/*
 * Collects calls and kernels in the trace's order. Sorts them by process, communicator and time, to number those
 * without a sequence number; then by number, to join calls with kernels. Last, computes the time that no computation
 * overlaps.
 */
#include "analysis/comm/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "common/file_vector.h"
#include "common/array.h"
#include "common/map.h"
#include "common/memory.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"

enum side { SIDE_CALL, SIDE_KERNEL };

/* A call or a kernel. */
struct found {
    struct collective one;
    event_id row, thread; /* process and thread of the event */
    int64_t device, context, stream;
    int64_t time, end; /* ns, of its slice; time is INT64_MAX if it was in flight */
    uint64_t order;    /* place in the trace */
    uint8_t side;
    bool named; /* arguments describe the operation; otherwise only its kernel's name is known */
};

ORDER_BY(by_order, struct found, order)

/* Compares the lanes of two operations. Operations of one lane are numbered together: those of a process in a
 * communicator, or in one direction between two ranks. */
static int compare_lane(const struct collective *a, const struct collective *b)
{
    unsigned a_kind = collective_is_pairwise((enum collective_kind)a->kind) ? a->kind : COLLECTIVE_OTHER;
    unsigned b_kind = collective_is_pairwise((enum collective_kind)b->kind) ? b->kind : COLLECTIVE_OTHER;
    int pairs = ORDER(a_kind, b_kind) ?: ORDER(a->source, b->source) ?: ORDER(a->target, b->target);
    return ORDER(a->pid, b->pid) ?: ORDER(a->communicator, b->communicator) ?: pairs;
}

static int by_time(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    return compare_lane(&a->one, &b->one)
               ?: ORDER(a->side, b->side) ?: ORDER(a->time, b->time) ?: ORDER(b->end, a->end) ?: by_order(a, b);
}

static int by_sequence(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    return compare_lane(&a->one, &b->one)
               ?: ORDER(a->one.sequence, b->one.sequence)
               ?: ORDER(a->side, b->side) ?: ORDER(a->time, b->time) ?: by_order(a, b);
}

int collective_compare_operation(const struct collective *left, const struct collective *right)
{
    bool left_pair = collective_is_pairwise((enum collective_kind)left->kind);
    bool right_pair = collective_is_pairwise((enum collective_kind)right->kind);
    return ORDER(left->communicator, right->communicator)
               ?: ORDER(left->group_ranks, right->group_ranks)
               ?: ORDER(left_pair, right_pair)
               ?: ORDER(left->source, right->source)
               ?: ORDER(left->target, right->target)
               ?: ORDER(left->sequence, right->sequence) ?: ORDER(left->part, right->part);
}

int collectives_order(const void *left, const void *right)
{
    const struct collective *a = left, *b = right;
    return collective_compare_operation(a, b)
               ?: ORDER(a->rank, b->rank)
               ?: ORDER(a->group_rank, b->group_rank) ?: ORDER(a->pid, b->pid) ?: ORDER(a->kind, b->kind);
}

void collectives_init(struct collectives *collectives, struct sorter_space *space)
{
    *collectives = (struct collectives){0};
    sorter_init(&collectives->found, space, sizeof(struct found), by_order);
    sorter_init(&collectives->all, space, sizeof(struct collective), collectives_order);
}

void collectives_release(struct collectives *collectives)
{
    sorter_release(&collectives->found);
    sorter_release(&collectives->all);
    array_release(&collectives->names.communication);
}

/* --- events --- */

static struct collective collective_of(const struct trace *trace, const struct event_fields *event)
{
    const struct range_fields *range = event_range(event);
    const struct communication_fields *fields = event_communication(event);
    bool named = fields->collective != EVENT_NO_TEXT;
    enum collective_kind kind = named ? collective_kind_of(trace_text(trace, fields->collective))
                                      : collective_kind_of_kernel(trace_text(trace, event->name));
    int64_t each = fields->dtype == EVENT_NO_TEXT ? 0 : collective_type_bytes(trace_text(trace, fields->dtype));
    int64_t elements = collective_elements(kind, fields->in_elements, fields->out_elements, fields->group_size), bytes;
    bool known = elements >= 0 && each > 0 && !__builtin_mul_overflow(elements, each, &bytes);
    return (struct collective){
        .communicator = fields->communicator,
        .group_ranks = fields->group_ranks,
        .source = -1,
        .target = -1,
        .sequence = fields->group_sequence,
        .rank = FIELD_ABSENT,
        .group_rank = fields->group_rank >= 0 ? fields->group_rank : FIELD_ABSENT,
        .kind = (uint8_t)kind,
        .on_host = range->domain != EVENT_NO_TEXT && strcmp(trace_text(trace, range->domain), "MPI") == 0,
        .name = named ? fields->collective : event->name,
        .dtype = fields->dtype,
        .group_size = fields->group_size,
        .peer = fields->peer,
        .bytes = known && bytes < EVENT_NUMBER_LIMIT ? bytes : FIELD_ABSENT,
        .kernel_bytes = FIELD_ABSENT,
        .kernel_bus_bytes = FIELD_ABSENT,
        .called = FIELD_ABSENT,
        .returned = FIELD_ABSENT,
        .start = FIELD_ABSENT,
        .duration = FIELD_ABSENT,
        .exposed = FIELD_ABSENT,
        .group_call = fields->group_call,
        .process = COLLECTIVE_NO_INDEX,
        .thread = COLLECTIVE_NO_INDEX,
        .device = COLLECTIVE_NO_INDEX,
        .stream = COLLECTIVE_NO_INDEX,
    };
}

int collectives_event(struct collectives *collectives, const struct trace *trace, const struct event_fields *event)
{
    bool in_flight = event->category == CATEGORY_GPU_IN_FLIGHT, kernel = event->category == CATEGORY_KERNEL;
    bool named = event_communicates(event);
    if (!category_in(event->category, COLLECTIVE_CATEGORIES) || event->phase != (in_flight ? 'i' : 'X') ||
        (!named && (!kernel || collectives->named_count > 0)))
        return 0;
    int communicates = named ? 1 : temporal_communicates(&collectives->names, trace, event->name);
    if (communicates <= 0)
        return communicates;
    collectives->named_count += named;
    struct found found = {
        .one = collective_of(trace, event),
        .row = event->process,
        .thread = trace_thread_of(event),
        .device = trace_event_device(event),
        .context = event_gpu(event)->context,
        .stream = trace_event_stream(event),
        .time = in_flight ? INT64_MAX : event->start,
        .end = event->start + event->duration,
        .order = collectives->found_count++,
        .named = named,
        .side = kernel || in_flight ? SIDE_KERNEL : SIDE_CALL,
    };
    found.one.in_flight = in_flight;
    /* These calls are not operations (PyTorch's "wait" and "init"), or take part in two (MPI_Sendrecv()). */
    bool other = found.one.kind == COLLECTIVE_OTHER || (found.one.on_host && found.one.kind == COLLECTIVE_SENDRECV);
    if (found.side == SIDE_CALL && other)
        return 0;
    if (kernel) {
        found.one.start = event->start;
        found.one.duration = event->duration;
    } else if (!in_flight) {
        found.one.called = event->start;
        found.one.returned = event_range(event)->open_at_end == 1 ? FIELD_ABSENT : found.end;
    }
    return sorter_add(&collectives->found, &found);
}

/* --- processes of operations --- */

struct owner {
    event_id pid;
    uint32_t process; /* COLLECTIVE_NO_INDEX: the process has no events */
    int64_t rank;
    uint64_t kinds; /* sum of kind_hash() of all its operations, for comparison with other ranks */
};

struct owners {
    const struct trace *trace;
    struct dense_map rows; /* event_id -> items */
    ARRAY(struct owner) items;
};

/* Returns the process of FOUND's row, which may be a GPU's row. Returns NULL without memory. */
static struct owner *find_owner(struct owners *owners, const struct found *found)
{
    size_t before = owners->items.count;
    struct owner *owner = dense_map_item(&owners->rows, &found->row, &owners->items);
    if (!owner || owners->items.count == before)
        return owner;
    const struct trace_gpu_row *row = found->side == SIDE_KERNEL ? trace_gpu_row(owners->trace, found->row) : NULL;
    event_id only = EVENT_NO_ID; /* the only process with slices on threads */
    const struct trace *trace = owners->trace;
    for (size_t i = 0; found->side == SIDE_KERNEL && !row && i < trace->processes.count; i++)
        if (trace->host_processes == 1 && trace->processes.items[i].host)
            only = *(const event_id *)dense_map_row(&trace->process_ids, i);
    owner->pid = row ? row->process : only != EVENT_NO_ID ? only : found->row;
    owner->process = dense_map_lookup(&owners->trace->process_ids, &owner->pid, sizeof(owner->pid));
    const struct trace_rank *rank = trace_rank_of(owners->trace, owner->pid);
    owner->rank = rank ? rank->rank : FIELD_ABSENT;
    return owner;
}

bool collective_find_in_list(const char *list, int64_t *place, int64_t *number)
{
    const char *at = *list == '[' ? list + 1 : list;
    for (int64_t i = 0; *at && *at != ']'; i++) {
        char *end;
        long long here = strtoll(at, &end, 10);
        if (end == at)
            break;
        if (i == *place || here == *number) {
            *place = i;
            *number = here;
            return true;
        }
        at = end + strspn(end, ", ");
    }
    return false;
}

/* Returns a hash of the kind of an operation that is known only by its kernel's name. */
static uint64_t kind_hash(const struct trace *trace, const struct collective *one)
{
    const char *name = one->kind == COLLECTIVE_OTHER ? trace_text(trace, one->name) : collective_words[one->kind];
    return hash_bytes(name, strlen(name));
}

static int resolve(struct owners *owners, struct found *found)
{
    const struct trace *trace = owners->trace;
    struct collective *one = &found->one;
    const struct owner *owner = find_owner(owners, found);
    if (!owner)
        return -1;
    one->pid = owner->pid;
    one->process = owner->process;
    one->rank = owner->rank;
    /* Number operations of which only kernels are known. The peer of a send or receive is unknown then, so each rank
     * has its own number. */
    const uint64_t key[] = {owner->kinds, found->named ? 0 : kind_hash(trace, one),
                            one->kind == COLLECTIVE_SENDRECV ? (uint64_t)owner->rank + 1 : 0};
    one->part = found->named ? 0 : (uint32_t)hash_bytes(key, sizeof(key)) | 1;
    /* The list of the group's ranks translates between the rank in the job and the rank in the group. */
    bool one_known = (one->rank == FIELD_ABSENT) != (one->group_rank == FIELD_ABSENT);
    if (one_known && one->group_ranks != EVENT_NO_TEXT)
        collective_find_in_list(trace_text(trace, one->group_ranks), &one->group_rank, &one->rank);
    if (collective_is_pairwise((enum collective_kind)one->kind)) {
        int32_t own = one->group_rank >= 0 && one->group_rank <= INT32_MAX ? (int32_t)one->group_rank : -1;
        int32_t peer = one->peer >= 0 && one->peer <= INT32_MAX ? (int32_t)one->peer : -1;
        one->source = one->kind == COLLECTIVE_SEND ? own : peer;
        one->target = one->kind == COLLECTIVE_SEND ? peer : own;
    }
    if (found->side == SIDE_KERNEL) {
        const struct trace_stream_id stream = {found->row, found->device, found->context, found->stream};
        one->device = dense_map_lookup(&trace->device_ids, &found->device, sizeof(found->device));
        one->stream = dense_map_lookup(&trace->stream_ids, &stream, sizeof(stream));
    } else {
        const struct trace_thread_id thread = {found->row, found->thread};
        one->thread = dense_map_lookup(&trace->thread_ids, &thread, sizeof(thread));
    }
    return 0;
}

/* Resolves all operations and adds them to TO; if TO is NULL, counts their kinds instead. If any operation has
 * arguments, operations that are known only by a kernel's name are left out. */
static int walk_found(const struct collectives *collectives, struct owners *owners, struct sorter *to)
{
    struct sorter_walk walk;
    const struct found *next;
    int status = 0;
    sorter_walk_begin(&walk, &collectives->found);
    while (status == 0 && (next = sorter_next(&walk))) {
        struct found found = *next;
        if (found.named != (collectives->named_count > 0))
            continue;
        struct owner *owner = find_owner(owners, &found);
        if (owner && !to)
            owner->kinds += kind_hash(owners->trace, &found.one);
        status = !owner ? -1 : to ? resolve(owners, &found) ?: sorter_add(to, &found) : 0;
    }
    return sorter_walk_end(&walk) ?: status;
}

/* --- numbers --- */

static int number_all(const struct sorter *from, struct sorter *to)
{
    struct sorter_walk walk;
    const struct found *next;
    struct found last = {0};
    int64_t count = 0;
    int status = 0;
    bool any = false;
    sorter_walk_begin(&walk, from);
    while (status == 0 && (next = sorter_next(&walk))) {
        bool again = any && compare_lane(&next->one, &last.one) == 0 && next->side == last.side;
        /* Skip a call inside another call of its kind, such as an operator within an operator. */
        if (again && next->side == SIDE_CALL && next->one.kind == last.one.kind && next->thread == last.thread &&
            next->end <= last.end)
            continue;
        count = again ? count + 1 : 0;
        last = *next;
        any = true;
        if (last.one.sequence < 0)
            last.one.sequence = count;
        status = sorter_add(to, &last);
    }
    int walked = sorter_walk_end(&walk);
    return status ? status : walked ? walked : sorter_ready(to);
}

/* --- joins --- */

typedef ARRAY(struct collective) collective_array;

/* Adds a call to SAME, the operations of one number. Joins a kernel with the first call of its kind that has no kernel
 * yet. */
static int join(collective_array *same, const struct found *found)
{
    for (size_t i = 0; found->side == SIDE_KERNEL && i < same->count; i++) {
        struct collective *call = &same->items[i];
        bool taken = call->called == FIELD_ABSENT || call->in_flight || call->start != FIELD_ABSENT;
        if (taken || call->kind != found->one.kind)
            continue;
        collective_add_kernel(call, &found->one);
        return 0;
    }
    struct collective another = found->one;
    another.part += (uint32_t)same->count;
    return ADD(array_push, same, another) ? 0 : -1;
}

/* Operations joined with their kernels, in any order. */
struct joined {
    struct sorter grouped; /* in collective_groups_order() */
    FILE_VECTOR(struct collective) items;
};

static int add_joined(void *context, const struct collective *one)
{
    struct joined *joined = context;
    return ADD(file_vector_push, &joined->items, *one) ? 0 : -1;
}

/* Adds the operations of one number. Operations of a group call are joined with its kernel later. */
static int add_same(collective_array *same, struct joined *joined)
{
    int status = 0;
    for (size_t i = 0; i < same->count && status == 0; i++)
        status = same->items[i].group_call != FIELD_ABSENT ? sorter_add(&joined->grouped, &same->items[i])
                                                           : add_joined(joined, &same->items[i]);
    same->count = 0;
    return status;
}

static int join_all(const struct sorter *from, struct joined *joined)
{
    struct sorter_walk walk;
    const struct found *next;
    struct found last = {0};
    collective_array same = {0};
    int status = 0;
    sorter_walk_begin(&walk, from);
    while (status == 0 && (next = sorter_next(&walk))) {
        bool again = compare_lane(&next->one, &last.one) == 0 && next->one.sequence == last.one.sequence;
        if (same.count > 0 && !again)
            status = add_same(&same, joined);
        last = *next;
        status = status ?: join(&same, next);
    }
    status = status ?: add_same(&same, joined);
    int walked = sorter_walk_end(&walk);
    array_release(&same);
    return status ?: walked;
}

int collectives_gather(struct collectives *collectives, const struct trace *trace)
{
    struct sorter resolved, numbered;
    struct owners owners = {.trace = trace};
    struct joined joined = {.items = {.memory = {.directory = temporary_directory()}}};
    sorter_init(&resolved, trace->space, sizeof(struct found), by_time);
    sorter_init(&numbered, trace->space, sizeof(struct found), by_sequence);
    sorter_init(&joined.grouped, trace->space, sizeof(struct collective), collective_groups_order);
    int status = sorter_ready(&collectives->found);
    if (status == 0 && collectives->named_count == 0)
        status = walk_found(collectives, &owners, NULL);
    status = status ?: walk_found(collectives, &owners, &resolved) ?: sorter_ready(&resolved);
    dense_map_release(&owners.rows);
    array_release(&owners.items);
    sorter_release(&collectives->found);
    status = status ?: number_all(&resolved, &numbered);
    sorter_release(&resolved);
    status = status ?: join_all(&numbered, &joined);
    sorter_release(&numbered);
    status = status ?: collective_groups_join(&joined.grouped, add_joined, &joined);
    sorter_release(&joined.grouped);
    if (status == 0 && trace->wanted.timeline)
        status = collectives_expose(joined.items.items, joined.items.count, trace);
    for (size_t i = 0; i < joined.items.count && status == 0; i++)
        status = sorter_add(&collectives->all, &joined.items.items[i]);
    file_vector_release(&joined.items);
    return status ?: sorter_ready(&collectives->all);
}

/* --- walks --- */

void collectives_walk_begin(struct collectives_walk *walk, const struct sorter *operations)
{
    *walk = (struct collectives_walk){0};
    sorter_walk_begin(&walk->walk, operations);
    const struct collective *next = sorter_next(&walk->walk);
    walk->any = next;
    walk->next = next ? *next : walk->next;
}

size_t collectives_next(struct collectives_walk *walk, const struct collective **ranks)
{
    const struct collective *next;
    walk->ranks.count = 0;
    while (walk->any && !walk->no_memory &&
           (walk->ranks.count == 0 || collective_compare_operation(&walk->ranks.items[0], &walk->next) == 0)) {
        walk->no_memory = !ADD(array_push, &walk->ranks, walk->next);
        next = sorter_next(&walk->walk);
        walk->any = next;
        walk->next = next ? *next : walk->next;
    }
    *ranks = walk->ranks.items;
    return walk->no_memory ? 0 : walk->ranks.count;
}

int collectives_walk_end(struct collectives_walk *walk)
{
    bool no_memory = walk->no_memory;
    array_release(&walk->ranks);
    return sorter_walk_end(&walk->walk) ?: no_memory ? -1 : 0;
}
