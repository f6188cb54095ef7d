/*
 * Makes a grid as narrow as a terminal.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_GRID_FIT_H
#define GPUTRACE_ANALYSIS_RENDER_GRID_FIT_H

#include <stddef.h>

struct grid;

/* Leaves out the least important columns and shortens texts, so that lines have WIDTH characters at most. Columns that
 * the user chose stay. Returns 0, or -1: no memory. */
int grid_fit(struct grid *grid, size_t width);

#endif
