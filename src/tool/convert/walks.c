#include "tool/convert/walks.h"

#include "base/log.h"
#include "base/pieces.h"
#include "tool/decode/cupti.h"
#include "tool/decode/own.h"

/* Threads that unpack ahead, of as many parts at least: more would wait for the one that sees what is in them. Decoding
 * ahead as well gained nothing: then events go from one processor to another, which are larger than their records.
 */
#define AHEAD_MOST 2
#define AHEAD_PARTS 8

void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     const uint8_t *data, bool all)
{
    walk->process = process;
    walk->part = part;
    walk->all = all;
    walk->unreadable = 0;
    clock_walk_begin(&walk->clocks, process, part);
    if (part->type == SPOOL_CUPTI)
        cupti_walk_begin(&walk->cupti, part, data, process->record_bytes);
    else
        own_walk_begin(&walk->own, part);
}

static bool next_cupti(struct part_walk *walk, struct event *event)
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

static bool next_own(struct part_walk *walk, struct event *event)
{
    if (!own_walk_next(&walk->own))
        return false;
    own_decode(event, &walk->own, walk->part->thread);
    clock_walk_set(&walk->clocks, event);
    return true;
}

bool part_walk_next(struct part_walk *walk, struct event *event)
{
    return walk->part->type == SPOOL_CUPTI ? next_cupti(walk, event) : next_own(walk, event);
}

uint64_t part_walk_end(struct part_walk *walk)
{
    spool_part_rest(walk->part);
    return walk->unreadable + (walk->part->type == SPOOL_CUPTI ? walk->cupti.damaged : walk->own.damaged);
}

/* --- all parts of a type --- */

/* A part that another thread has unpacked before the walk comes to it. */
struct unpacked {
    struct spool_scratch scratch;
    const uint8_t *data;
};

/* What is seen depends on what was seen before: this is one thread's. */
struct whole_walk {
    struct conversion *conversion;
    struct process *process;
    uint16_t type;
    bool all;
    event_function see;
    int result; /* of SEE */
    uint64_t undecoded;
    uint64_t walked;           /* bytes since indexes were given back */
    struct unpacked *unpacked; /* by slot; NULL: nobody unpacks ahead */
};

static void pass_part(struct whole_walk *whole, struct part_walk *walk)
{
    whole->undecoded += part_walk_end(walk);
    whole->walked += walk->part->size;
    if (whole->walked < PROCESS_REST_BYTES)
        return;
    process_rest(whole->process);
    whole->walked = 0;
}

static void walk_part(struct whole_walk *whole, size_t number, const uint8_t *data)
{
    const struct spool_part *part = &whole->process->file.parts.items[number];
    struct part_walk walk;
    struct event event;
    whole->process->part = (uint32_t)number;
    part_walk_begin(&walk, whole->process, part, data, whole->all);
    while (whole->result == 0 && part_walk_next(&walk, &event))
        whole->result = whole->see(whole->conversion, whole->process, &event);
    pass_part(whole, &walk);
}

static const struct spool_part *part_of(const struct whole_walk *whole, size_t number)
{
    const struct spool_part *part = &whole->process->file.parts.items[number];
    return part->type == whole->type ? part : NULL;
}

static int unpack_part(void *context, size_t number, unsigned slot, unsigned worker)
{
    struct whole_walk *whole = context;
    struct unpacked *unpacked = &whole->unpacked[slot];
    const struct spool_part *part = part_of(whole, number);
    (void)worker;
    unpacked->data = part ? spool_part_data(part, &unpacked->scratch) : NULL;
    return 0;
}

static int see_part(void *context, size_t number, unsigned slot)
{
    struct whole_walk *whole = context;
    if (part_of(whole, number))
        walk_part(whole, number, whole->unpacked[slot].data);
    return whole->result ? -1 : 0;
}

static int walk_ahead(struct whole_walk *whole, unsigned workers)
{
    unsigned slots = pieces_slots(workers);
    whole->unpacked = calloc(slots, sizeof(*whole->unpacked));
    if (!whole->unpacked)
        return error_no_memory("reading");
    int result = pieces_run(&(struct pieces){.count = whole->process->file.parts.count,
                                             .workers = workers,
                                             .make = unpack_part,
                                             .take = see_part,
                                             .context = whole});
    for (unsigned i = 0; i < slots; i++)
        spool_scratch_release(&whole->unpacked[i].scratch);
    free(whole->unpacked);
    return whole->result ? whole->result : result;
}

static int walk_parts(struct whole_walk *whole)
{
    const struct spool_file *file = &whole->process->file;
    unsigned workers = pieces_workers(whole->conversion->options->workers, AHEAD_MOST);
    if (workers > 1 && file->packed && whole->type == SPOOL_CUPTI && file->parts.count >= AHEAD_PARTS)
        return walk_ahead(whole, workers);
    for (size_t i = 0; i < file->parts.count && whole->result == 0; i++)
        if (part_of(whole, i))
            walk_part(whole, i, spool_part_data(&file->parts.items[i], &whole->process->scratch));
    return whole->result;
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
