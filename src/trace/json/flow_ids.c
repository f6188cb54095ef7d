#include "trace/json/flow_ids.h"

#include "common/log.h"

void flow_ids_release(struct flow_ids *ids)
{
    map_release(&ids->seen);
    map_release(&ids->several);
    array_release(&ids->fans);
}

static struct flow_fan *find_fan(const struct flow_ids *ids, uint32_t bind_id)
{
    uint64_t *index = ids->fans.count > 0 ? map_get(&ids->several, bind_id) : NULL;
    return index ? &ids->fans.items[*index - 1] : NULL;
}

static int note_further(struct flow_ids *ids, uint32_t bind_id)
{
    struct flow_fan *fan = find_fan(ids, bind_id);
    if (!fan) {
        fan = array_push(&ids->fans);
        uint64_t *index = fan ? map_put(&ids->several, bind_id, NULL) : NULL;
        if (!index)
            return error_no_memory("arrows");
        *index = ids->fans.count;
    }
    fan->further++;
    return 0;
}

int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head)
{
    if (bind_id > ids->highest)
        ids->highest = bind_id;
    if (!is_head)
        return 0;
    uint64_t *bits = map_put(&ids->seen, bind_id / 64, NULL), bit = UINT64_C(1) << bind_id % 64;
    if (!bits)
        return error_no_memory("arrows");
    if (*bits & bit)
        return note_further(ids, bind_id);
    *bits |= bit;
    return 0;
}

void flow_ids_number(struct flow_ids *ids)
{
    uint64_t next = (uint64_t)ids->highest + 1;
    for (size_t i = 0; i < ids->fans.count; i++) {
        struct flow_fan *fan = &ids->fans.items[i];
        fan->first = next + fan->further - 1 <= UINT32_MAX ? (uint32_t)next : 0;
        next += fan->further;
    }
}

uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id)
{
    const struct flow_fan *fan = find_fan(ids, bind_id);
    return fan && fan->first != 0 ? 1 + fan->further : 1;
}

uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i)
{
    return i == 0 ? bind_id : find_fan(ids, bind_id)->first + i - 1;
}

uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id)
{
    struct flow_fan *fan = find_fan(ids, bind_id);
    uint32_t before = fan ? fan->met++ : 0;
    return before == 0 ? bind_id : fan->first != 0 ? fan->first + before - 1 : 0;
}
