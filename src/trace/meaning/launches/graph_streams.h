/*
 * Streams that CUDA makes for the branches of a graph, and for the bodies of its conditional nodes.
 *
 * CUPTI's records of a replay have the stream of the launch for one branch; every other branch and body has a stream of
 * its own, which each executable graph has anew, and which nothing else uses (seen with CUDA 13.0 on an H200). So a
 * program with many graphs has hundreds of such streams, of which few are ever busy at once. They get no rows: their
 * slices stand on rows of the launch's stream, on as many as overlap. The argument "stream" stays CUPTI's number.
 *
 *     made …, see …, take …, then fold once
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPH_STREAMS_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPH_STREAMS_H

#include <stdint.h>

#include "common/map.h"
#include "trace/tracks.h"

struct event;
struct process;

struct graph_streams {
    struct map pairs; /* graph and index of a stream's track, for all streams that graphs ran on */
    struct map made;  /* numbers of streams that the program made */
};

void graph_streams_release(struct graph_streams *streams);

/* The program made a stream of this number. Returns 0, or -1 after error(). */
int graph_streams_made(struct graph_streams *streams, uint32_t number);

/* A GPU operation on the stream of TRACK, one of FOUND's tracks: several threads see one part of the spool each, in
 * structs of their own. Return 0, or -1 after error(). */
int graph_streams_see(struct graph_streams *found, struct track *track, const struct event *event);

/* What was seen of a part, TRACKS, is what the process has. */
int graph_streams_take(struct process *process, struct graph_streams *found, const struct tracks *tracks);

/* After the last. Takes their rows from streams of branches. */
int graph_streams_fold(struct process *process);

#endif
