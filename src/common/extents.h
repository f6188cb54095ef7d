/*
 * Sums of points within intervals: for each interval, and each track that has points in it, the first and last time of
 * these points, and their number. The points are GPU operations, on the line of the thread that launched them, at the
 * time of the call; the tracks are streams; the intervals are NVTX ranges.
 *
 *     extents_add() …, extents_span() …, then extents_each() once
 *
 * It takes O((points + intervals + results) log points), however the intervals overlap. A walk goes over the points
 * from the last to the first and keeps a list of tracks, the one with the nearest point first. So the tracks of an
 * interval are at the front of the list when the walk is at its beginning. Each point has a link to the next one of its
 * track, and one that jumps over many, with the sum of those between.
 *
 * Large ones lie in files. Points of one place and track are added up.
 */
#ifndef GPUTRACE_COMMON_EXTENTS_H
#define GPUTRACE_COMMON_EXTENTS_H

#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"

struct extent {
    int64_t start, end;
    uint32_t count, marked; /* the caller's: how many points, and how many of a sort */
};

struct extents_point {
    int64_t at;
    uint32_t line, track; /* any numbers; those of tracks small */
    struct extent extent;
};

struct extents {
    FILE_VECTOR(struct extents_point) points;
    FILE_VECTOR(struct extents_span) spans;
    FILE_VECTOR(struct extents_link) links;
    ARRAY(struct extents_track) tracks;
    uint32_t nearest; /* track + 1 of the first in the list */
    size_t crowded;   /* when there are so many points, those of one place and track are joined */
};

struct extents_span {
    int64_t first, last; /* both belong to it */
    uint32_t line, what;
};

/* What the walk keeps of each point that it has reached. */
struct extents_link {
    struct extent passed; /* by the jump: this point and those up to where it leads */
    uint32_t next, jump;  /* index + 1 of a later point of the same line and track, 0: none */
    uint32_t later;       /* how many there are */
};

struct extents_track {
    uint32_t point;         /* index + 1 of its next point; 0: it is not in the list */
    uint32_t before, after; /* track + 1 */
};

/* DIRECTORY is for the files; NULL: there are none. */
void extents_init(struct extents *extents, const char *directory);
void extents_release(struct extents *extents);
/* Gives back the pages of the files. */
void extents_evict(const struct extents *extents);

/* WHAT is the caller's number of the interval. They return 0, or -1: no memory. */
int extents_add(struct extents *extents, const struct extents_point *point);
int extents_span(struct extents *extents, uint32_t line, int64_t first, int64_t last, uint32_t what);

/* Calls EACH for every interval and every track that has points in it, later ones first, until it returns non-zero.
 * Returns that, or 0, or -1: no memory. */
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
