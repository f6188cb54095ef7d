/*
 * A section of the report: it watches the events of the categories it is about, and fills a table at the end.
 */
#ifndef GPUTRACE_ANALYSIS_SECTION_H
#define GPUTRACE_ANALYSIS_SECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"
#include "trace/event_fields.h"
#include "analysis/dispatcher.h"
#include "analysis/options.h"
#include "analysis/table.h"
#include "analysis/trace.h"

#define SECTION_SOURCES 3
#define TRACE_GPU_WORK (TRACE_KERNEL | TRACE_MEMCPY | TRACE_MEMSET)
#define TRACE_API (TRACE_RUNTIME | TRACE_DRIVER)

struct section {
    const struct column *columns;
    size_t column_count;
    const char *sort;    /* its own order: the word of a column; NULL: as rows come */
    bool listing;        /* see struct table */
    bool headed;         /* likewise */
    unsigned categories; /* CATEGORY_BIT() of those it wants to see; of CATEGORY_OTHER too where it says so */
    /*
     * What it is made of, as bits of enum trace_bits. It is not recorded where all bits of one of the SOURCES, those
     * that are not 0, were left out by --trace. A part that was left out is named below its rows, if it has any.
     */
    uint64_t sources[SECTION_SOURCES], parts;
    size_t state_size; /* bytes of its state, which starts as zeros */
    bool heap;         /* it looks at trace.heap */
    bool ranges;       /* it looks at trace.ranges */
    bool launched_ops; /* and at trace.launched_ops; where there are no ranges, at trace.gpu_ops and trace.calls */
    bool calls;        /* it looks at trace.calls; sections with gpu_op() get them without asking */
    /* Called for every GPU operation, with the call that started it (NULL: not known), after trace_finish(). Returns
     * 0, or -1: no memory. NULL: the section needs no operations. */
    int (*gpu_op)(void *state, const struct trace *trace, const struct gpu_op *op, const struct call *call);
    /* For long computations after trace_finish(); those of several sections run at once. A section has this or
     * gpu_op(), not both. Returns 0, or -1: no memory, or after error(). May be NULL. */
    int (*gather)(void *state, const struct trace *trace);
    /* Called for every event of the categories, while other threads add to the trace: it may look only at the
     * trace's options and at the texts that the event refers to, and use the sorters' memory. Returns 0, or -1: no
     * memory. NULL: the section looks at the trace alone. */
    int (*event)(void *state, const struct trace *trace, const struct event_fields *event);
    /* Fills TABLE's rows after trace_finish(). Returns 0, or -1: no memory. */
    int (*finish)(void *state, const struct trace *trace, struct table *table);
    void (*release)(void *state);
};

#define SECTION(constant, name, word, title) extern const struct section section_##name;
REPORT_SECTIONS(SECTION)
#undef SECTION
extern const struct section section_memory_snapshot; /* in place of section_memory where --snapshot names a time */

/* --- the wanted sections of one trace: they get its events after the trace itself, and then its GPU operations --- */

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

/* Tells the trace what is wanted of it. Returns 0, or -1 after error(). Both outlive SECTIONS, which stay where they
 * are.
 */
int sections_init(struct sections *sections, struct trace *trace);
void sections_release(struct sections *sections);

/* Where the next event may be put. */
struct event_fields *sections_place(struct sections *sections);
/* Adds an event, which may be changed; the trace and the sections get it now or later. Returns 0, or -1 after
 * error(). */
int sections_event(struct sections *sections, struct event_fields *event);
/* Adds all events of a run; only where the trace renames none. */
int sections_run(struct sections *sections, const struct event_run *run);
/* Waits until the trace and the sections have got all events; then the trace may be changed. Returns 0, or -1 after
 * error(). */
int sections_wait(struct sections *sections);

/* After the last event: finishes the trace, and brings the sections to where they can fill their tables. Returns 0, or
 * -1 after error(). */
int sections_finish(struct sections *sections);

#endif
