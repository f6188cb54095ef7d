/*
 * For each group of operations, finds the first operation that a rank did not finish, the role of each rank in it, and
 * the start of the wait. Operations that were merely under way when the recording ended are left out.
 */
#include "analysis/hang/hang.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/map.h"

void hangs_release(struct hangs *hangs)
{
    hang_fronts_release(&hangs->fronts);
    array_release(&hangs->ranks);
    array_release(&hangs->items);
}

struct finishing {
    struct hangs *hangs;
    const int64_t *first; /* by member: when it called its first unfinished operation; NULL: not checked */
    const struct hang_group *group;
    struct hang_front *fronts;
    struct hang *hang;
};

static const struct hang_member *member_at(const struct finishing *finishing, uint32_t member)
{
    return &finishing->hangs->fronts.members.items[member];
}

/* Corrects the front of a killed process, whose last GPU records CUPTI had not delivered. The process does not wait in
 * an operation that was finished by a rank that lived longer. */
static void settle(const struct finishing *finishing, struct hang_front *front)
{
    const struct hang_member *member = member_at(finishing, front->member);
    const struct collective *latest = NULL;
    for (size_t i = 0; i < finishing->group->front_count; i++) {
        const struct hang_front *other = &finishing->fronts[i];
        int64_t last = member_at(finishing, other->member)->last;
        bool lived = last != FIELD_ABSENT && last - member->last >= HANG_GONE_NS;
        if (lived && other->finished && (!latest || hang_fronts_order(&other->done, latest) > 0))
            latest = &other->done;
    }
    if (!latest || hang_fronts_order(&front->pending, latest) > 0)
        return;
    front->pends = hang_fronts_order(&front->last, latest) > 0;
    front->pending = front->last;
    if (!collective_waits_for_all((enum collective_kind)latest->kind))
        return;
    front->done = front->pends ? *latest : front->last;
    front->finished = true;
}

/* Returns the last operation that all ranks finished, or NULL. */
static const struct collective *find_finished(const struct finishing *finishing)
{
    const struct hang_group *group = finishing->group;
    const struct collective *finished = group->any_finished ? &group->finished : NULL, *least = NULL;
    for (size_t i = 0; i < group->front_count; i++) {
        const struct hang_front *front = &finishing->fronts[i];
        if (!front->finished)
            return finished;
        least = !least || hang_fronts_order(&front->done, least) < 0 ? &front->done : least;
    }
    bool all =
        least && (group->size == FIELD_ABSENT || least->source >= 0 || (int64_t)group->front_count >= group->size);
    return all && (!finished || hang_fronts_order(least, finished) > 0) ? least : finished;
}

static bool pends_in(const struct hang_front *front, const struct collective *what)
{
    return front->pends && hang_fronts_order(&front->pending, what) == 0;
}

/* Returns the operation FIRST as most of the waiting ranks entered it; on a tie, as the first of them did. */
static const struct collective *find_usual(const struct finishing *finishing, const struct collective *first)
{
    const struct collective *usual = first;
    size_t most = 0;
    for (size_t i = 0; i < finishing->group->front_count; i++) {
        const struct hang_front *front = &finishing->fronts[i];
        size_t same = 0;
        for (size_t k = 0; pends_in(front, first) && k < finishing->group->front_count; k++)
            same += pends_in(&finishing->fronts[k], first) &&
                    !hang_fronts_differ(&finishing->hangs->fronts, &front->pending, &finishing->fronts[k].pending);
        usual = same > most ? &front->pending : usual;
        most = same > most ? same : most;
    }
    return usual;
}

static struct hang_rank rank_of(const struct finishing *finishing, const struct hang_front *front)
{
    const struct collective *what = &finishing->hang->what;
    struct hang_rank rank = {.member = front->member, .role = HANG_MISSING, .entered = true, .own = front->last};
    if (pends_in(front, what)) {
        rank.role = hang_fronts_differ(&finishing->hangs->fronts, what, &front->pending) ? HANG_OTHER : HANG_WAITS;
        rank.own = front->pending;
    } else if (hang_fronts_order(&front->last, what) >= 0) {
        /* Find another operation that the rank entered under the number of the hanging one, and finished. */
        const struct hang_member *member = member_at(finishing, front->member);
        const struct collective *passed = NULL;
        for (unsigned i = 0; i < finishing->group->other_count && !passed; i++) {
            const struct collective *other = &finishing->group->others[i];
            if (hang_fronts_order(other, what) == 0 && other->rank == member->rank && other->pid == member->process)
                passed = other;
        }
        bool finished = front->finished && hang_fronts_order(&front->done, what) >= 0;
        rank.role = finished ? HANG_PASSED : HANG_WAITS; /* only one of several calls in an NCCL group has the kernel */
        if (passed && hang_fronts_differ(&finishing->hangs->fronts, what, passed))
            rank.role = HANG_OTHER;
        rank.own = passed ? *passed : front->last;
    }
    return rank;
}

static int add_rank(const struct finishing *finishing, struct hang_rank rank)
{
    struct hangs *hangs = finishing->hangs;
    const struct hang_member *member = member_at(finishing, rank.member);
    struct hang_rank *added = array_push(&hangs->ranks);
    if (!added)
        return -1;
    rank.behind = rank.role == HANG_WAITS && rank.own.in_flight && member->gpu != EVENT_NO_TEXT &&
                  (rank.own.called == FIELD_ABSENT || member->gpu_called <= rank.own.called);
    *added = rank;
    finishing->hang->rank_count++;
    return 0;
}

static bool has_rank(const struct finishing *finishing, uint32_t member)
{
    const struct hang_rank *ranks = hang_ranks(finishing->hangs, finishing->hang);
    for (size_t i = 0; i < finishing->hang->rank_count; i++)
        if (ranks[i].member == member)
            return true;
    return false;
}

/* Adds the ranks that never entered any operation of the group. */
static int add_absent(const struct finishing *finishing)
{
    const struct hangs *hangs = finishing->hangs;
    struct hang *hang = finishing->hang;
    bool pair = hang->what.source >= 0;
    int64_t size = pair ? 2 : finishing->group->size;
    bool all = !pair && size == (int64_t)hangs->fronts.members.count;
    for (uint32_t i = 0; all && i < hangs->fronts.members.count; i++)
        if (!has_rank(finishing, i) && add_rank(finishing, (struct hang_rank){.member = i, .role = HANG_MISSING}) < 0)
            return -1;
    const int32_t ends[2] = {hang->what.source, hang->what.target};
    for (unsigned i = 0; pair && i < 2; i++) {
        /* A rank of the communicator is also the rank of the job if the communicator has all ranks of the job. */
        int64_t member = hang_fronts_place(&hangs->fronts, &hang->what, ends[i]);
        bool whole = hang->what.group_size == (int64_t)hangs->fronts.members.count;
        for (size_t k = 0; member < 0 && whole && k < hangs->fronts.members.count; k++)
            if (hangs->fronts.members.items[k].rank == ends[i])
                member = (int64_t)k;
        if (member >= 0 && !has_rank(finishing, (uint32_t)member) &&
            add_rank(finishing, (struct hang_rank){.member = (uint32_t)member, .role = HANG_MISSING}) < 0)
            return -1;
    }
    hang->unknown = size == FIELD_ABSENT ? 0 : size - (int64_t)hang->rank_count;
    hang->unknown = hang->unknown > 0 ? hang->unknown : 0;
    return 0;
}

static int by_rank(const void *left, const void *right, void *context)
{
    const struct hang_rank *a = left, *b = right;
    const struct hangs *hangs = context;
    const struct hang_member *one = &hangs->fronts.members.items[a->member],
                             *other = &hangs->fronts.members.items[b->member];
    return ORDER(one->rank, other->rank) ?: ORDER(one->process, other->process);
}

/* Updates the longest wait of the hang. RANK waits since its call, or since the end of its previous operation if that
 * is later. */
static void find_wait(const struct finishing *finishing, const struct hang_front *front, const struct hang_rank *rank)
{
    struct hang *hang = finishing->hang;
    const struct hang_member *member = member_at(finishing, rank->member);
    const struct collective *done = &front->done;
    int64_t ended = done->start != FIELD_ABSENT ? done->start + done->duration : done->returned;
    int64_t finished = front->finished ? ended : FIELD_ABSENT;
    int64_t since = finished > rank->own.called ? finished : rank->own.called;
    int64_t waited = event_time_between(since, member->last);
    if (waited <= hang->waited)
        return;
    hang->since = since;
    hang->waited = waited;
}

/* Marks processes that ended before the waiting ones did. A process that ended later may have ended because of the
 * hang. */
static void find_gone(const struct finishing *finishing, struct hang_rank *ranks)
{
    int64_t first = INT64_MAX, last = FIELD_ABSENT;
    for (size_t i = 0; i < finishing->hang->rank_count; i++) {
        int64_t own = member_at(finishing, ranks[i].member)->last;
        first = ranks[i].role == HANG_WAITS && own < first ? own : first;
        last = own > last ? own : last;
    }
    for (size_t i = 0; i < finishing->hang->rank_count; i++) {
        const struct hang_member *member = member_at(finishing, ranks[i].member);
        bool long_ago = member->last != FIELD_ABSENT && last - member->last >= HANG_GONE_NS;
        bool ended = member->ending == HANG_CRASHED || member->ending == HANG_FINISHED;
        ranks[i].is_gone = ranks[i].role != HANG_WAITS &&
                           ((ended && member->last <= first) || (member->ending == HANG_KILLED && long_ago));
    }
}

/* Returns whether the operation hangs, and was not merely under way when the recording ended. Some rank must wait in no
 * earlier operation, because later ones are only queued behind it. A waiting rank that exited does not count: its
 * program had stopped the recording. */
static bool stands_still(const struct finishing *finishing, const struct hang_rank *ranks)
{
    const struct hang *hang = finishing->hang;
    bool gone = false, waits = false, first = !finishing->first;
    for (size_t i = 0; i < hang->rank_count; i++) {
        first |= (ranks[i].role == HANG_WAITS || ranks[i].role == HANG_OTHER) && finishing->first &&
                 ranks[i].own.called <= finishing->first[ranks[i].member];
        gone |= ranks[i].is_gone && ranks[i].role == HANG_MISSING;
        waits |= ranks[i].role == HANG_WAITS && member_at(finishing, ranks[i].member)->ending != HANG_FINISHED;
    }
    return first && waits && (hang->waited >= HANG_LEAST_NS || gone);
}

static int finish_group(struct finishing *finishing)
{
    struct hangs *hangs = finishing->hangs;
    const struct hang_group *group = finishing->group;
    for (size_t i = 0; i < finishing->group->front_count; i++) {
        struct hang_front *front = &finishing->fronts[i];
        const struct hang_member *member = member_at(finishing, front->member);
        if (front->pends && member->ending == HANG_KILLED && member->last != FIELD_ABSENT)
            settle(finishing, front);
    }
    /* The first operation that a rank has not finished. */
    const struct hang_front *first = NULL;
    for (size_t i = 0; i < finishing->group->front_count; i++) {
        const struct hang_front *front = &finishing->fronts[i];
        if (front->pends && (!first || hang_fronts_order(&front->pending, &first->pending) < 0))
            first = front;
    }
    if (!first)
        return 0;
    const struct collective *finished = find_finished(finishing);
    struct hang *hang = finishing->hang = array_push(&hangs->items);
    if (!hang)
        return -1;
    *hang = (struct hang){.init = EVENT_NO_TEXT,
                          .what = *find_usual(finishing, &first->pending),
                          .first_rank = hangs->ranks.count,
                          .any_finished = finished != NULL,
                          .finished = finished ? *finished : group->finished,
                          .since = FIELD_ABSENT};
    for (size_t i = 0; i < group->front_count; i++) {
        struct hang_rank rank = rank_of(finishing, &finishing->fronts[i]);
        if (add_rank(finishing, rank) < 0)
            return -1;
        if (rank.role == HANG_WAITS)
            find_wait(finishing, &finishing->fronts[i], &rank);
    }
    if (add_absent(finishing) < 0)
        return -1;
    struct hang_rank *ranks = hangs->ranks.items + hang->first_rank;
    find_gone(finishing, ranks);
    qsort_r(ranks, hang->rank_count, sizeof(*ranks), by_rank, hangs);
    for (size_t i = 0; i < hang->rank_count; i++)
        hang->counts[ranks[i].role]++;
    hang->differs = group->other_count > 0 && hang_fronts_order(&group->one, &hang->what) < 0;
    hang->one = group->one;
    hang->other = group->others[0];
    if (!stands_still(finishing, ranks)) {
        hangs->ranks.count = hang->first_rank;
        hangs->items.count--;
    }
    return 0;
}

/* --- communicators that are being created, whose ranks are not known yet --- */

static const struct collective nothing = {.communicator = EVENT_NO_TEXT,
                                          .source = -1,
                                          .sequence = FIELD_ABSENT,
                                          .name = EVENT_NO_TEXT,
                                          .dtype = EVENT_NO_TEXT,
                                          .group_size = FIELD_ABSENT,
                                          .bytes = FIELD_ABSENT};

static int finish_init(struct hangs *hangs)
{
    struct hang hang = {
        .init = EVENT_NO_TEXT, .what = nothing, .first_rank = hangs->ranks.count, .since = FIELD_ABSENT};
    struct finishing finishing = {.hangs = hangs, .hang = &hang};
    for (uint32_t i = 0; i < hangs->fronts.members.count; i++) {
        const struct hang_member *member = &hangs->fronts.members.items[i];
        bool waits = member->init != EVENT_NO_TEXT;
        const struct hang_rank rank = {.member = i, .role = waits ? HANG_WAITS : HANG_MISSING};
        if (add_rank(&finishing, rank) < 0)
            return -1;
        hang.counts[rank.role]++;
        hang.init = waits && hang.init == EVENT_NO_TEXT ? member->init : hang.init;
        int64_t waited = waits ? event_time_between(member->init_since, member->last) : 0;
        if (waited <= hang.waited)
            continue;
        hang.since = member->init_since;
        hang.waited = waited;
    }
    struct hang_rank *ranks = hang.counts[HANG_WAITS] > 0 ? hangs->ranks.items + hang.first_rank : NULL;
    if (ranks)
        find_gone(&finishing, ranks);
    if (!ranks || !stands_still(&finishing, ranks)) {
        hangs->ranks.count = hang.first_rank;
        return 0;
    }
    qsort_r(ranks, hang.rank_count, sizeof(*ranks), by_rank, hangs);
    return ADD(array_push, &hangs->items, hang) ? 0 : -1;
}

static int finish_groups(struct hangs *hangs)
{
    /* The time at which each member called the first operation in which it waits. */
    int64_t *first = malloc((hangs->fronts.members.count + 1) * sizeof(*first));
    for (size_t i = 0; first && i < hangs->fronts.members.count; i++)
        first[i] = INT64_MAX;
    for (size_t i = 0; first && i < hangs->fronts.fronts.count; i++) {
        const struct hang_front *front = &hangs->fronts.fronts.items[i];
        if (front->pends && front->pending.called < first[front->member])
            first[front->member] = front->pending.called;
    }
    int status = first ? 0 : -1;
    for (size_t i = 0; i < hangs->fronts.groups.count && status == 0; i++) {
        const struct hang_group *group = &hangs->fronts.groups.items[i];
        struct finishing finishing = {
            .hangs = hangs, .first = first, .group = group, .fronts = hangs->fronts.fronts.items + group->first_front};
        status = finish_group(&finishing);
    }
    free(first);
    return status;
}

int hangs_finish(struct hangs *hangs)
{
    hang_fronts_end(&hangs->fronts);
    hangs->origin = hangs->origin == FIELD_ABSENT ? 0 : hangs->origin;
    if (finish_groups(hangs) < 0 || finish_init(hangs) < 0)
        return -1;
    /* Find the missing ranks that wait in another hang. */
    for (size_t i = 0; i < hangs->items.count; i++) {
        struct hang *hang = &hangs->items.items[i];
        struct hang_rank *ranks = hangs->ranks.items + hang->first_rank;
        hang->follows = hang->counts[HANG_MISSING] > 0 && hang->counts[HANG_OTHER] == 0;
        for (size_t k = 0; k < hang->rank_count; k++) {
            if (ranks[k].role != HANG_MISSING)
                continue;
            for (size_t other = 0; other < hangs->items.count && !ranks[k].waits_elsewhere; other++) {
                const struct hang_rank *others = hang_ranks(hangs, &hangs->items.items[other]);
                for (size_t n = 0; other != i && !ranks[k].is_gone && n < hangs->items.items[other].rank_count; n++)
                    if (others[n].member == ranks[k].member &&
                        (others[n].role == HANG_WAITS || others[n].role == HANG_OTHER))
                        ranks[k].waits_elsewhere = (uint32_t)other + 1;
            }
            hang->follows &= ranks[k].waits_elsewhere != 0;
        }
    }
    return 0;
}
