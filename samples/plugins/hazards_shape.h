/*
 * Shapes: the bytes that a copy or a set touches, and whether two of them share one.
 *
 * A shape is a box of slices of rows, each row a run of bytes. The bytes between rows and between slices do not belong
 * to it: halo columns of one matrix that lie side by side do not overlap, though their first and last bytes interleave.
 */
#ifndef GPUTRACE_PLUGINS_HAZARDS_SHAPE_H
#define GPUTRACE_PLUGINS_HAZARDS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

struct shape {
    uint64_t start;         /* address of the first byte */
    uint64_t width;         /* bytes of a row */
    uint64_t height, pitch; /* rows, and bytes from one to the next */
    uint64_t depth, slice;  /* slices, and bytes from one to the next */
};

/* BYTES bytes from START on. */
struct shape shape_run(uint64_t start, uint64_t bytes);

/* PITCH 0: as wide as a row. ROWS from a slice to the next, 0: as many as it is high. What is one run becomes one. */
struct shape shape_box(uint64_t start, uint64_t width, uint64_t height, uint64_t pitch, uint64_t depth, uint64_t rows);

/* A box within an array. Where arrays keep their bytes is unknown, so each gets addresses of its own from 0 on, in
 * which all its boxes have the same pitch; shapes of different arrays must not be compared. */
struct shape shape_array_box(uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t height, uint64_t depth);

static inline bool shape_is_empty(const struct shape *shape)
{
    return shape->width == 0 || shape->height == 0 || shape->depth == 0;
}

/* Behind its last byte. */
uint64_t shape_end(const struct shape *shape);

enum shapes { SHAPES_APART, SHAPES_OVERLAP, SHAPES_UNKNOWN };

/* Exact; SHAPES_UNKNOWN when that would take too long, as with two boxes of very many rows and different pitches, or
 * when a shape is none that CUDA would accept. */
enum shapes shapes_compare(const struct shape *a, const struct shape *b);

/* Every byte of PART is known to belong to WHOLE. False may mean that it is not known. */
bool shape_covers(const struct shape *whole, const struct shape *part);

#endif
