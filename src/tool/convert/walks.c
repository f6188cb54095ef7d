#include "tool/convert/walks.h"

#include "tool/decode/cupti.h"
#include "tool/decode/own.h"

/* What indexes were written to is given back to the disk after so many bytes of records. */
#define REST_BYTES ((uint64_t)16 << 20)

void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     struct spool_scratch *scratch, bool all)
{
    walk->process = process;
    walk->part = part;
    walk->all = all;
    walk->unreadable = 0;
    clock_walk_begin(&walk->clocks, process, part);
    if (part->type == SPOOL_CUPTI)
        cupti_walk_begin(&walk->cupti, part, spool_part_data(part, scratch), process->record_bytes);
    else
        own_walk_begin(&walk->own, part);
}

bool part_walk_cupti(struct part_walk *walk, struct event *event)
{
    while (cupti_walk_next(&walk->cupti)) {
        if (!cupti_kind_decoded(walk->cupti.kind))
            continue;
        cupti_decode(event, &walk->cupti);
        clock_walk_set(&walk->clocks, event);
        if (event->type == EVENT_NONE)
            walk->unreadable++;
        else if (walk->all || process_shows(walk->process, event))
            return true;
    }
    return false;
}

bool part_walk_own(struct part_walk *walk, struct event *event)
{
    if (!own_walk_next(&walk->own))
        return false;
    own_decode(event, &walk->own, walk->part->thread);
    clock_walk_set(&walk->clocks, event);
    return true;
}

uint64_t part_walk_end(struct part_walk *walk)
{
    spool_part_rest(walk->part);
    return walk->unreadable + (walk->part->type == SPOOL_CUPTI ? walk->cupti.damaged : walk->own.damaged);
}

/* A walk that one thread makes over all parts of a type. */
struct whole_walk {
    struct conversion *conversion;
    struct process *process;
    uint16_t type;
    bool all;
    event_function see;
    uint64_t undecoded;
};

static int walk_part(struct whole_walk *whole, const struct spool_part *part)
{
    struct part_walk walk;
    struct event event;
    int result = 0;
    bool cupti = whole->type == SPOOL_CUPTI;
    part_walk_begin(&walk, whole->process, part, &whole->process->scratch, whole->all);
    while (result == 0 && (cupti ? part_walk_cupti(&walk, &event) : part_walk_own(&walk, &event)))
        result = whole->see(whole->conversion, whole->process, &event);
    whole->undecoded += part_walk_end(&walk);
    return result;
}

static int walk_parts(struct whole_walk *whole)
{
    struct process *process = whole->process;
    uint64_t walked = 0;
    int result = 0;
    for (size_t i = 0; i < process->file.parts.count && result == 0; i++) {
        const struct spool_part *part = &process->file.parts.items[i];
        if (part->type != whole->type)
            continue;
        process->part = (uint32_t)i;
        result = walk_part(whole, part);
        walked += part->size;
        if (walked >= REST_BYTES) {
            process_rest(process);
            walked = 0;
        }
    }
    return result;
}

int process_walk_own(struct conversion *conversion, struct process *process, event_function see, uint64_t *undecoded)
{
    struct whole_walk whole = {.conversion = conversion, .process = process, .type = SPOOL_RECORDS, .see = see};
    int result = walk_parts(&whole);
    if (undecoded)
        *undecoded += whole.undecoded;
    return result;
}

int process_walk_cupti(struct conversion *conversion, struct process *process, event_function see, uint64_t *undecoded)
{
    struct whole_walk whole = {.conversion = conversion, .process = process, .type = SPOOL_CUPTI, .see = see};
    int result = walk_parts(&whole);
    if (undecoded)
        *undecoded += whole.undecoded;
    return result;
}

int process_walk_all_cupti(struct conversion *conversion, struct process *process, event_function see)
{
    struct whole_walk whole = {
        .conversion = conversion, .process = process, .type = SPOOL_CUPTI, .all = true, .see = see};
    return walk_parts(&whole);
}
