/*
 * Sums points within intervals: for each interval and each track with points in it, the first and last time of these
 * points, and their number. The points are GPU operations: each lies on the line of the thread that launched it, at the
 * time of the call. The tracks are streams. The intervals are NVTX ranges.
 *
 *     extents_add() …, extents_span() …, then extents_each() once
 *
 * It takes O((points + intervals + results) log points), however the intervals overlap. A walk goes over the points
 * from the last to the first and keeps a list of tracks, the one with the nearest point first. So when the walk is at
 * the beginning of an interval, the tracks of the interval are at the front of the list. Each point has a link to the
 * next point of its track, and a link that jumps over many points, with the sum of these points.
 *
 * Large arrays lie in files. Points of one place and track are joined.
 */
#ifndef GPUTRACE_COMMON_EXTENTS_H
#define GPUTRACE_COMMON_EXTENTS_H

#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"

struct extent {
    int64_t start, end;
    uint32_t count, marked; /* set by the caller: number of points, and of points of some kind */
};

struct extents_point {
    int64_t at;
    uint32_t line, track; /* any numbers; numbers of tracks should be small */
    struct extent extent;
};

struct extents {
    FILE_VECTOR(struct extents_point) points;
    FILE_VECTOR(struct extents_span) spans;
    FILE_VECTOR(struct extents_link) links;
    ARRAY(struct extents_track) tracks;
    uint32_t nearest; /* track + 1 of the first track in the list */
    size_t crowded;   /* number of points at which points of one place and track are joined */
};

struct extents_span {
    int64_t first, last; /* the interval includes both */
    uint32_t line, what;
};

/* What the walk stores for each point that it has reached. */
struct extents_link {
    struct extent passed; /* sum of this point and of those that the jump passes */
    uint32_t next, jump;  /* index + 1 of a later point of this line and track; 0: none */
    uint32_t later;       /* number of later points of this line and track */
};

struct extents_track {
    uint32_t point;         /* index + 1 of its next point; 0: the track is not in the list */
    uint32_t before, after; /* track + 1 of its neighbours in the list */
};

/* DIRECTORY is for temporary files; NULL: no files are used. */
void extents_init(struct extents *extents, const char *directory);
void extents_release(struct extents *extents);
/* Gives the pages of the files back to the kernel. */
void extents_evict(const struct extents *extents);

/* Add a point, or an interval with the caller's number WHAT. Return 0, or -1: no memory. */
int extents_add(struct extents *extents, const struct extents_point *point);
int extents_span(struct extents *extents, uint32_t line, int64_t first, int64_t last, uint32_t what);

/* Calls EACH for every interval and each track with points in it, later intervals first, until EACH returns non-zero.
 * Returns the last result of EACH, or -1: no memory. */
int extents_each(struct extents *extents,
                 int (*each)(void *context, uint32_t what, uint32_t track, const struct extent *extent), void *context);

/* Adds MORE to EXTENT. */
static inline void extent_join(struct extent *extent, const struct extent *more)
{
    extent->start = more->start < extent->start ? more->start : extent->start;
    extent->end = more->end > extent->end ? more->end : extent->end;
    extent->count += more->count;
    extent->marked += more->marked;
}

#endif
