/*
 * The sections that are wanted of one trace: they are given its events, the trace first of all, and then its works.
 */
#ifndef GPUTRACE_ANALYSIS_SECTIONS_H
#define GPUTRACE_ANALYSIS_SECTIONS_H

#include <stdbool.h>

#include "analysis/dispatcher.h"
#include "analysis/report.h"
#include "analysis/section.h"

struct sections {
    struct trace *trace;
    struct dispatcher dispatcher;
    struct sections_one {
        const struct section *section; /* NULL: it is not wanted */
        struct trace *trace;
        void *state; /* NULL: it has none */
    } all[REPORT_SECTION_COUNT];
};

bool sections_wanted(const struct report_options *options, unsigned number);
/* Section NUMBER, as it is with these options. */
const struct section *sections_of(const struct report_options *options, unsigned number);
/* Its name for -r, and its title. */
const char *sections_word(unsigned number);
const char *sections_title(unsigned number);

/* Tells the trace what is wanted of it. Gives 0, or -1 after error(). Both outlive SECTIONS, which stay where they are.
 */
int sections_init(struct sections *sections, struct trace *trace);
void sections_release(struct sections *sections);

/* Where the next event may be put. */
struct trace_event *sections_place(struct sections *sections);
/* Takes an event, which may be changed; it is given to the trace and the sections now or later. Gives 0, or -1 after
 * error(). */
int sections_event(struct sections *sections, struct trace_event *event);
/* The same of all events of a run, where the trace renames none. */
int sections_run(struct sections *sections, const struct event_run *run);
/* All that was taken is given: the trace can be changed. Gives 0, or -1 after error(). */
int sections_wait(struct sections *sections);

/* After the last event: finishes the trace, and brings the sections to where they can fill their tables. Gives 0, or -1
 * after error(). */
int sections_finish(struct sections *sections);

#endif
