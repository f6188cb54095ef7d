#include "hazards_clock.h"

#include <stdlib.h>
#include <string.h>

void clock_release(struct clock *clock)
{
    free(clock->at);
    *clock = (struct clock){0};
}

static bool reach(struct clock *clock, uint32_t count)
{
    if (count <= clock->count)
        return true;
    uint32_t room = (count + 7) / 8 * 8;
    uint64_t *at = realloc(clock->at, room * sizeof(*at));
    if (!at)
        return false;
    memset(at + clock->count, 0, (room - clock->count) * sizeof(*at));
    clock->at = at;
    clock->count = room;
    return true;
}

bool clock_raise(struct clock *clock, uint32_t stream, uint64_t time)
{
    if (clock_get(clock, stream) >= time)
        return true;
    if (!reach(clock, stream + 1))
        return false;
    clock->at[stream] = time;
    return true;
}

bool clock_join(struct clock *to, const struct clock *from)
{
    if (!reach(to, from->count))
        return false;
    for (uint32_t i = 0; i < from->count; i++)
        if (to->at[i] < from->at[i])
            to->at[i] = from->at[i];
    return true;
}

bool clock_copy(struct clock *to, const struct clock *from)
{
    if (!reach(to, from->count))
        return false;
    if (from->count)
        memcpy(to->at, from->at, from->count * sizeof(*to->at));
    if (to->count > from->count)
        memset(to->at + from->count, 0, (to->count - from->count) * sizeof(*to->at));
    return true;
}

bool clock_covers(const struct clock *whole, const struct clock *part)
{
    for (uint32_t i = 0; i < part->count; i++)
        if (part->at[i] > clock_get(whole, i))
            return false;
    return true;
}
