/* Finds streams on which one graph alone ran, and folds their rows into further lanes of the launch's stream. */
#include "trace/meaning/launches/graph_streams.h"

#include "common/log.h"
#include "common/settings.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/launches/graphs.h"

void graph_streams_release(struct graph_streams *streams)
{
    map_release(&streams->pairs);
    map_release(&streams->made);
}

static int no_memory(void)
{
    return error_no_memory("streams of graphs");
}

int graph_streams_made(struct graph_streams *streams, uint32_t number)
{
    return map_put(&streams->made, number, NULL) ? 0 : no_memory();
}

static int add_pair(struct graph_streams *streams, uint32_t graph, const struct track *track)
{
    return map_put(&streams->pairs, (uint64_t)graph << 32 | track->index, NULL) ? 0 : no_memory();
}

/* A stream is that of a branch as long as one graph alone ran there. */
static void note(struct track *track, uint32_t graph)
{
    if (track->graph == 0)
        track->graph = graph;
    track->has_others |= graph == 0 || track->graph != graph;
}

int graph_streams_see(struct graph_streams *found, struct track *track, const struct event *event)
{
    uint32_t graph = gpu_op_graph(event);
    bool is_known = graph == 0 || graph == track->last_graph;
    note(track, graph);
    track->last_graph = graph;
    return is_known ? 0 : add_pair(found, graph, track);
}

/* --- all parts --- */

struct taking {
    struct process *process;
    const struct tracks *tracks;
};

static struct track *stream_like(const struct process *process, const struct track *other)
{
    return tracks_get(&process->tracks, TRACK_STREAM, other->device, other->context, other->number);
}

static int take_pair(void *context, uint64_t key, uint64_t *unused)
{
    const struct taking *taking = context;
    const struct track *track = stream_like(taking->process, taking->tracks->items.items[(uint32_t)key]);
    (void)unused;
    return track ? add_pair(taking->process->graph_streams, (uint32_t)(key >> 32), track) : 0;
}

int graph_streams_take(struct process *process, struct graph_streams *found, const struct tracks *tracks)
{
    struct taking taking = {process, tracks};
    for (size_t i = 0; i < tracks->items.count; i++) {
        const struct track *seen = tracks->items.items[i];
        struct track *track = seen->kind == TRACK_STREAM ? stream_like(process, seen) : NULL;
        if (!track)
            continue;
        if (seen->graph != 0)
            note(track, seen->graph);
        track->has_others |= seen->has_others;
    }
    return map_each(&found->pairs, take_pair, &taking);
}

/* --- folding --- */

struct folding {
    struct process *process;
    struct map base; /* of a graph, by device and context: index + 1 of the track of its launches' stream */
};

static bool is_of_branch(const struct folding *folding, const struct track *track)
{
    return track->graph != 0 && !track->has_others && !map_get(&folding->process->graph_streams->made, track->number);
}

static uint64_t base_key(uint32_t graph, const struct track *track)
{
    return (uint64_t)graph << 32 | (track->device & 0xffff) << 16 | (track->context & 0xffff);
}

static int find_base(void *context, uint64_t key, uint64_t *unused)
{
    struct folding *folding = context;
    struct track *const *tracks = folding->process->tracks.items.items;
    const struct track *track = tracks[(uint32_t)key];
    uint64_t *base = map_put(&folding->base, base_key((uint32_t)(key >> 32), track), NULL);
    (void)unused;
    if (!base)
        return no_memory();
    /* Rather a stream that is not of a branch; else the default stream, whose number is the lowest. */
    const struct track *known = *base != 0 ? tracks[*base - 1] : NULL;
    bool is_branch = is_of_branch(folding, track), was_branch = known && is_of_branch(folding, known);
    if (!known || (is_branch != was_branch ? was_branch : track->number < known->number))
        *base = (uint64_t)track->index + 1;
    return 0;
}

static void fold(const struct folding *folding)
{
    const struct tracks *tracks = &folding->process->tracks;
    for (size_t i = 0; i < tracks->items.count; i++) {
        struct track *track = tracks->items.items[i];
        bool is_branch = track->kind == TRACK_STREAM && is_of_branch(folding, track);
        const uint64_t *index = is_branch ? map_get(&folding->base, base_key(track->graph, track)) : NULL;
        struct track *base = index ? tracks->items.items[*index - 1] : track;
        if (base == track || base->device != track->device || base->context != track->context)
            continue;
        track->stands_in = base;
        lanes_must_collect(&base->lanes);
    }
}

int graph_streams_fold(struct process *process)
{
    struct folding folding = {.process = process};
    if (map_count(&process->graph_streams->pairs) == 0 || !process_was_to_record(process, TRACE_STREAM))
        return 0; /* or streams that the program made are not known */
    int result = map_each(&process->graph_streams->pairs, find_base, &folding);
    if (result == 0)
        fold(&folding);
    process->tracks.recent = (struct tracks_recent){0};
    map_release(&folding.base);
    return result;
}
