/*
 * The options of `gputrace diff`; and the rows of all traces that it compares, joined by section and name, with the
 * times of each whole trace.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_ROWS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/section.h"
#include "analysis/names/pretty_names.h"

enum diff_format { DIFF_TABLE, DIFF_CSV, DIFF_JSON, DIFF_MARKDOWN, DIFF_JUNIT, DIFF_HTML };
enum diff_side { BEFORE, AFTER, DIFF_SIDES };

/* A condition of --fail-on: "total>3%", "kernel:sgemm>2us", "finding:pageable-copies". */
struct diff_condition {
    const char *text; /* the whole condition */
    const char *noun; /* "total", "gpu" or a section's noun; owned by the condition */
    const char *name; /* name of a row, or NULL for any row */
    bool of_percent;  /* the limit is in per cent, else in ns or bytes */
    double limit;     /* limit of the growth; 0 if the condition has none */
    char unit;        /* unit of a limit that is not in per cent: 't' time, 'b' bytes */
};

struct diff_conditions {
    struct diff_condition *items;
    size_t count, capacity;
};

struct diff_options {
    /* Options for reading the traces. `sections`, `format` and `top` are about the tables of the diff. */
    struct report_options report;
    const char **paths[DIFF_SIDES];
    size_t counts[DIFF_SIDES];
    enum diff_format format;
    bool all; /* show also rows that did not change */
    bool any; /* differences that are not sure meet conditions, too */
    struct diff_conditions conditions;
};

/* A row of one trace. */
struct diff_sample {
    bool present;
    double each;         /* trimmed mean of an occurrence, ns or bytes; 0: unknown */
    double variance, df; /* of the logarithm of `each`, due to the variation of occurrences; df 0: unknown */
    double total;        /* ns or bytes */
    double count;
};

/* The difference between two estimates, by Welch's test. */
struct difference {
    double value;  /* after - before */
    double margin; /* half of the 95 % confidence interval */
    double p;      /* probability of a difference at least as large if there is none */
};

/* The comparison of one figure of a row. */
struct diff_test {
    bool known;
    bool few;              /* too few occurrences in a trace to know how they vary */
    double before, after;  /* geometric means over the traces that have the row; for whole traces arithmetic means */
    struct difference log; /* difference of the logarithms */
    double adjusted;       /* log.p, corrected for the number of tests; log.p itself for a single test */
};

/* The figures of a row that are compared. */
enum diff_figure { FIGURE_EACH, FIGURE_COUNT, FIGURE_TOTAL, DIFF_FIGURES };

enum diff_change { UNCHANGED, SLOWER, FASTER, MORE, FEWER, LARGER, SMALLER, APPEARED, VANISHED };
enum diff_sure { NOT_SURE, LIKELY, SURE };

/* At most this share of all differences that are called likely (or sure) is chance. */
#define DIFF_LIKELY 0.05
#define DIFF_SURE 0.001

struct diff_row {
    unsigned section;            /* enum report_section */
    uint32_t name;               /* number of diff.names */
    struct diff_sample *samples; /* by the number of the trace; owned */
    size_t present[DIFF_SIDES];  /* number of traces that have the row */
    union {
        struct {
            struct diff_test each, count, total;
        };
        struct diff_test figures[DIFF_FIGURES];
    };
    double apart, deviation;   /* logarithms: distance of two modes of `each`, deviation of runs within them; 0: none */
    double totals[DIFF_SIDES]; /* means over all traces of the side; a trace without the row counts as 0 */
    double counts[DIFF_SIDES]; /* means over all traces of the side */
    bool tiny;                 /* takes too little time to be compared with the other rows */
    enum diff_change change;   /* the change that matters most */
    enum diff_sure sure;       /* how sure `change` is */
    const struct diff_test *why; /* the test that shows `change`; NULL: the row appeared, vanished, or is unchanged */
};

/* A term of the difference of the whole run. All terms add up to this difference. */
struct diff_term {
    enum diff_term_kind { TERM_ROW, TERM_OVERLAP, TERM_IDLE } kind;
    const struct diff_row *row; /* TERM_ROW: the row */
    double before, after;       /* ns, means of the traces; negative for TERM_OVERLAP */
};

/* Times of a whole trace in ns. Times of GPUs are means over the GPUs that were used. */
struct diff_whole {
    double span, busy, idle;
    size_t gpus;   /* number of GPUs that were used; 1 if none was */
    double step;   /* length of a usual step */
    int64_t steps; /* 0: the trace has no usual steps */
    int64_t rank;  /* rank in the job; FIELD_ABSENT: of no rank, or of several ranks */
    int64_t world; /* ranks of the job; FIELD_ABSENT: unknown */
    uint32_t gpu;  /* name of the first GPU, in diff.names; EVENT_NO_TEXT: unknown */
};

struct diff {
    const struct diff_options *options;
    size_t traces; /* number of traces of both sides; those before come first */
    struct diff_whole *wholes;
    struct diff_test span, busy, idle, step;
    bool by_steps; /* all traces show where a step goes, which explains the difference */
    struct interner names;
    struct pretty_names pretty; /* names of kernels for --names=pretty */
    struct dense_map keys;      /* struct diff_key -> rows */
    ARRAY(struct diff_row) rows;
    bool compared[REPORT_SECTION_COUNT];          /* every trace has what the section needs */
    const char *unrecorded[REPORT_SECTION_COUNT]; /* path of a trace recorded without the section; NULL: none */
    struct diff_term *terms; /* terms of the difference of the whole run, largest first: see diff.c */
    size_t term_count;
    const struct diff_term *causes; /* the terms of a step, otherwise of the run, largest first */
    size_t cause_count;
    double explained[DIFF_SIDES], spans[DIFF_SIDES]; /* sums of `causes`; mean lengths of runs, ns */
};

/* Reads all traces, one at a time, and drops from OPTIONS the traces that have nothing of what is selected. Returns 0,
 * or -1 after error(). DIFF must be released in both cases. */
int diff_read(struct diff *diff, struct diff_options *options);
void diff_release(struct diff *diff);

static inline enum diff_side diff_side_of(const struct diff *diff, size_t trace)
{
    return trace < diff->options->counts[BEFORE] ? BEFORE : AFTER;
}

static inline double diff_term_difference(const struct diff_term *term)
{
    return term->after - term->before;
}

static inline const struct comparable *diff_comparable(unsigned section)
{
    return &section_list[section].section->comparable;
}

/* Returns the row's name for people. The name in the traces is interned(&diff->names, row->name). */
static inline const char *diff_name(const struct diff *diff, const struct diff_row *row)
{
    bool pretty = diff->options->report.names == REPORT_NAMES_PRETTY && row->section == REPORT_KERNELS;
    return interned(&diff->names, pretty ? pretty_names_shown(&diff->pretty, row->name) : row->name);
}

/* Returns the type of totals and occurrences of a section: TYPE_NS or TYPE_BYTES, or TYPE_COUNT if it has neither. */
enum column_type diff_type(unsigned section);

#endif
