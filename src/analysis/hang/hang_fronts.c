/*
 * Reads operations group by group. A group is dropped when the next one begins, unless an operation of it is
 * unfinished.
 */
#include "analysis/hang/hang_fronts.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"

void hang_fronts_release(struct hang_fronts *fronts)
{
    interner_release(&fronts->texts);
    array_release(&fronts->members);
    dense_map_release(&fronts->member_of_rank);
    dense_map_release(&fronts->member_of_place);
    array_release(&fronts->places);
    array_release(&fronts->fronts);
    array_release(&fronts->groups);
    array_release(&fronts->front_of_member);
}

uint32_t hang_fronts_text(struct hang_fronts *fronts, const char *text)
{
    return text ? intern(&fronts->texts, text, strlen(text)) : EVENT_NO_TEXT;
}

struct hang_member *hang_fronts_member(struct hang_fronts *fronts, int64_t rank, event_id process)
{
    const uint64_t key[2] = {rank != FIELD_ABSENT, rank != FIELD_ABSENT ? (uint64_t)rank : process};
    size_t before = fronts->members.count;
    struct hang_member *member = dense_map_item(&fronts->member_of_rank, &key, &fronts->members);
    if (member && fronts->members.count > before)
        *member = (struct hang_member){.rank = rank,
                                       .process = process,
                                       .how = EVENT_NO_TEXT,
                                       .last = FIELD_ABSENT,
                                       .gpu = EVENT_NO_TEXT,
                                       .gpu_since = FIELD_ABSENT,
                                       .gpu_called = FIELD_ABSENT,
                                       .host = EVENT_NO_TEXT,
                                       .host_since = FIELD_ABSENT,
                                       .thread = EVENT_NO_TEXT,
                                       .range = EVENT_NO_TEXT,
                                       .place = EVENT_NO_TEXT,
                                       .init = EVENT_NO_TEXT,
                                       .init_since = FIELD_ABSENT};
    return member;
}

/* --- operations --- */

int hang_fronts_order(const struct collective *a, const struct collective *b)
{
    return ORDER(a->sequence, b->sequence) ?: ORDER(a->part, b->part);
}

static bool is_pending(const struct collective *own)
{
    return own->in_flight ||
           (own->start == FIELD_ABSENT && own->called != FIELD_ABSENT && own->returned == FIELD_ABSENT);
}

static bool is_finished(const struct hang_group *group, const struct collective *own)
{
    return !is_pending(own) && (own->on_host || own->start != FIELD_ABSENT || !group->has_kernels);
}

static bool differ(int64_t a, int64_t b)
{
    return a != FIELD_ABSENT && b != FIELD_ABSENT && a != b;
}

bool hang_fronts_differ(const struct hang_fronts *fronts, const struct collective *a, const struct collective *b)
{
    bool pair = a->source >= 0;
    if (!pair &&
        (a->kind != b->kind || (a->kind == COLLECTIVE_OTHER && a->name != b->name) || differ(a->peer, b->peer)))
        return true;
    /* Each rank may pass its own size to MPI_Allgatherv and all_to_allv. */
    const char *name = a->name == EVENT_NO_TEXT ? "" : interned(fronts->strings, a->name);
    size_t length = strlen(name);
    bool own_sizes = a->kind == COLLECTIVE_GATHER || a->kind == COLLECTIVE_SCATTER || a->kind == COLLECTIVE_BARRIER ||
                     (length > 0 && (name[length - 1] == 'v' || name[length - 1] == 'w') && a->kind != COLLECTIVE_RECV);
    return differ(a->bytes, b->bytes) && !own_sizes;
}

static struct hang_group *current(const struct hang_fronts *fronts)
{
    return &fronts->groups.items[fronts->groups.count - 1];
}

/* Ends the group that is being read, and drops it if nobody waits in it. */
void hang_fronts_end(struct hang_fronts *fronts)
{
    bool pends = false;
    if (!fronts->reading)
        return;
    struct hang_group *group = current(fronts);
    group->front_count = fronts->fronts.count - group->first_front;
    for (size_t i = 0; i < group->front_count; i++)
        pends |= fronts->fronts.items[group->first_front + i].pends;
    if (!pends) {
        fronts->fronts.count = group->first_front;
        fronts->groups.count--;
    }
    fronts->reading = false;
}

static int open_group(struct hang_fronts *fronts, const struct collective *own)
{
    if (fronts->reading && collective_same_group(&current(fronts)->one, own))
        return 0;
    hang_fronts_end(fronts);
    struct hang_group *group = array_push(&fronts->groups);
    if (!group)
        return -1;
    for (size_t i = 0; i < fronts->front_of_member.count; i++)
        fronts->front_of_member.items[i] = 0;
    *group = (struct hang_group){.first_front = fronts->fronts.count, .size = FIELD_ABSENT, .one = *own};
    fronts->reading = true;
    return 0;
}

/* Returns the front of OWN's rank in the group that is being read, or NULL without memory. */
static struct hang_front *front_of(struct hang_fronts *fronts, const struct collective *own)
{
    const struct hang_member *known = hang_fronts_member(fronts, own->rank, own->pid);
    uint32_t member = known ? (uint32_t)(known - fronts->members.items) : 0;
    if (!known)
        return NULL;
    if (own->group_rank != FIELD_ABSENT) {
        /* Remember which member has this rank in the communicator: a receiver that does nothing is known only by its
         * rank. */
        const uint64_t key[2] = {own->communicator, (uint64_t)own->group_rank};
        size_t before = fronts->places.count;
        uint32_t *place = dense_map_item(&fronts->member_of_place, &key, &fronts->places);
        if (!place)
            return NULL;
        if (fronts->places.count > before)
            *place = member;
    }
    uint32_t *index = array_at(&fronts->front_of_member, member);
    if (!index)
        return NULL;
    if (*index == 0) {
        struct hang_front *front = array_push(&fronts->fronts);
        if (!front)
            return NULL;
        front->member = member;
        *index = (uint32_t)fronts->fronts.count;
    }
    return &fronts->fronts.items[*index - 1];
}

static int add_rank(struct hang_fronts *fronts, const struct collective *own)
{
    struct hang_front *front = front_of(fronts, own);
    if (!front)
        return -1;
    struct hang_group *group = current(fronts);
    group->has_kernels |= own->in_flight || own->start != FIELD_ABSENT;
    group->size = own->group_size != FIELD_ABSENT ? own->group_size : group->size;
    front->last = *own;
    if (is_pending(own)) {
        front->pending = front->pends ? front->pending : *own;
        front->pends = true;
    } else if (is_finished(group, own)) {
        front->done = *own;
        front->finished = true;
        front->pends = false;
    }
    return 0;
}

int hang_fronts_operation(struct hang_fronts *fronts, const struct collective *ranks, size_t count)
{
    if (open_group(fronts, &ranks[0]) < 0)
        return -1;
    struct hang_group *group = current(fronts);
    group->one = group->other_count > 0 ? group->one : ranks[0];
    for (size_t i = 1, known = group->other_count; known == 0 && i < count && group->other_count < HANG_OTHERS; i++)
        if (hang_fronts_differ(fronts, &ranks[0], &ranks[i]))
            group->others[group->other_count++] = ranks[i];
    for (size_t i = 0; i < count; i++)
        if (add_rank(fronts, &ranks[i]) < 0)
            return -1;
    bool all = count >= fronts->fronts.count - group->first_front &&
               (group->size == FIELD_ABSENT || ranks[0].source >= 0 || (int64_t)count >= group->size);
    for (size_t i = 0; i < count; i++)
        all &= is_finished(group, &ranks[i]);
    if (all) {
        group->any_finished = true;
        group->finished = ranks[0];
    }
    return 0;
}

int64_t hang_fronts_place(const struct hang_fronts *fronts, const struct collective *own, int32_t rank)
{
    const uint64_t key[2] = {own->communicator, (uint64_t)rank};
    uint32_t found = dense_map_lookup(&fronts->member_of_place, key, sizeof(key));
    return found == DENSE_MAP_NONE ? -1 : (int64_t)fronts->places.items[found];
}
