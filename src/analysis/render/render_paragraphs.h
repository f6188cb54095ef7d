/*
 * Sentences in reports: lines that are wrapped to the width of the terminal, and tables of paragraphs.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_RENDER_PARAGRAPHS_H
#define GPUTRACE_ANALYSIS_RENDER_RENDER_PARAGRAPHS_H

#include <stdbool.h>

struct render;
struct table;

/* Writes TEXT, wrapped, behind the blanks that it begins with; to a page of HTML as its headline. */
void render_line(struct render *render, const char *text);

/* Writes the rows of a table of paragraphs. */
void render_paragraphs(struct render *render, const struct table *table, bool markdown);

#endif
