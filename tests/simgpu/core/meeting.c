#include "core/meeting.h"

enum { KIND_BITS = 24 };

static _Thread_local struct next_kernel next;

void simgpu_next_kernel(uint64_t duration, const struct meeting *meetings, size_t count)
{
    next.duration = duration;
    next.count = count < MEETINGS_MAX ? count : MEETINGS_MAX;
    for (size_t i = 0; i < next.count; i++)
        next.meetings[i] = meetings[i];
}

struct next_kernel meeting_take_next(void)
{
    struct next_kernel taken = next;
    next = (struct next_kernel){0};
    return taken;
}

static struct meeting_slot *slot_of(const struct meeting *meeting)
{
    return &meeting->place->slots[meeting->number % MEETING_SLOTS];
}

/* The first kernel says the kind of a meeting. */
static void compare_kinds(struct meeting_slot *slot, const struct meeting *meeting)
{
    uint64_t ours = (meeting->number + 1) << KIND_BITS | (meeting->kind & ((1u << KIND_BITS) - 1));
    uint64_t there = atomic_load(&slot->kind);
    while (there >> KIND_BITS <= meeting->number)
        if (atomic_compare_exchange_weak(&slot->kind, &there, ours))
            return;
    if (there != ours)
        atomic_store(&slot->broken, meeting->number + 1);
}

/* A slot is used again when all sides have left it: a kernel of meeting N + MEETING_SLOTS starts only after all sides
 * have started that of N + MEETING_SLOTS - 1, and so have ended that of N. */
void meeting_enter(struct meeting *meeting, uint64_t start)
{
    meeting->number = atomic_fetch_add(&meeting->place->arrived[meeting->side], 1);
    struct meeting_slot *slot = slot_of(meeting);
    compare_kinds(slot, meeting);
    uint64_t latest = atomic_load(&slot->latest);
    while (latest < start && !atomic_compare_exchange_weak(&slot->latest, &latest, start))
        ;
    atomic_fetch_add(&slot->entered, 1);
}

bool meeting_complete(const struct meeting *meeting, uint64_t *latest)
{
    const struct meeting_slot *slot = slot_of(meeting);
    uint64_t needed = (meeting->number / MEETING_SLOTS + 1) * meeting->sides;
    if (atomic_load(&slot->entered) < needed || atomic_load(&slot->broken) == meeting->number + 1)
        return false;
    uint64_t start = atomic_load(&slot->latest);
    *latest = *latest < start ? start : *latest;
    return true;
}
