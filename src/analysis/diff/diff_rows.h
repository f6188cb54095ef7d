/*
 * What a user may ask of `gputrace diff`; and the rows of all traces that it compares, joined by section and name, with
 * the times of each whole trace.
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
    const char *text; /* all of it */
    const char *noun; /* "total", "gpu" or a section's; owned by the condition */
    const char *name; /* of a row, or NULL: any row */
    bool of_percent;  /* the limit is in per cent, else in ns or bytes */
    double limit;     /* of the growth; 0 unless the condition has one */
    char unit;        /* of a limit that is not in per cent: 't' time, 'b' bytes */
};

struct diff_conditions {
    struct diff_condition *items;
    size_t count, capacity;
};

struct diff_options {
    /* The options for reading the traces. Its sections, format and top are those of the tables of the diff. */
    struct report_options report;
    const char **paths[DIFF_SIDES];
    size_t counts[DIFF_SIDES];
    enum diff_format format;
    bool all; /* rows that did not change, too */
    bool any; /* conditions are met by differences that are not sure, too */
    struct diff_conditions conditions;
};

/* A row of one trace. */
struct diff_sample {
    bool present;
    double each;         /* what one occurrence took, without outliers: ns or bytes; 0: not known */
    double variance, df; /* of the logarithm of `each`, by how the occurrences vary; df 0: not known */
    double total;        /* ns or bytes */
    double count;
};

/* How far AFTER is from BEFORE, by Welch's test. */
struct difference {
    double value;  /* after - before */
    double margin; /* the true difference is within value +- margin with 95 % */
    double p;      /* the chance of such a difference, or a larger one, when there is none */
};

/* How a figure of a row differs. */
struct diff_test {
    bool known;
    bool few;              /* too few occurrences in a trace to know how they vary */
    double before, after;  /* geometric means of the traces that have it; of whole traces means */
    struct difference log; /* of the logarithms */
    double adjusted;       /* log.p, corrected for the number of comparisons; log.p itself for a test on its own */
};

/* The figures of a row that are compared. */
enum diff_figure { FIGURE_EACH, FIGURE_COUNT, FIGURE_TOTAL, DIFF_FIGURES };

enum diff_change { UNCHANGED, SLOWER, FASTER, MORE, FEWER, LARGER, SMALLER, APPEARED, VANISHED };
enum diff_sure { NOT_SURE, LIKELY, SURE };

/* Of all differences that are called likely (or sure), at most this share is there by chance. */
#define DIFF_LIKELY 0.05
#define DIFF_SURE 0.001

struct diff_row {
    unsigned section;            /* enum report_section */
    uint32_t name;               /* of diff.names */
    struct diff_sample *samples; /* by the number of the trace */
    size_t present[DIFF_SIDES];  /* traces that have it */
    union {
        struct {
            struct diff_test each, count, total;
        };
        struct diff_test figures[DIFF_FIGURES];
    };
    double apart, deviation; /* logarithms: how far two modes of `each` are apart, and how runs deviate within them; 0:
                                it has no modes */
    double totals[DIFF_SIDES];   /* means over all traces of the side; a trace without the row counts as 0 */
    double counts[DIFF_SIDES];   /* means over all traces of the side */
    bool tiny;                   /* too little of the time to be compared with the others */
    enum diff_change change;     /* the change that matters most */
    enum diff_sure sure;         /* how sure `change` is */
    const struct diff_test *why; /* the test that says so; NULL: it appeared or vanished, or there is none */
};

/* A term of the difference of the whole. All terms add up to it. */
struct diff_term {
    enum diff_term_kind { TERM_ROW, TERM_OVERLAP, TERM_IDLE } kind;
    const struct diff_row *row; /* TERM_ROW: the row */
    double before, after;       /* ns, means of the traces; negative for TERM_OVERLAP */
};

/* Times of a whole trace in ns; those of GPUs are means over the GPUs that were used. */
struct diff_whole {
    double span, busy, idle;
    size_t gpus;   /* that were used; 1 if none was */
    double step;   /* of a usual one */
    int64_t steps; /* 0: the trace has no usual steps */
    int64_t rank;  /* of a job; FIELD_ABSENT: it is of none, or of several */
    int64_t world; /* ranks of the job; FIELD_ABSENT: not known */
    uint32_t gpu;  /* name of the first, of diff.names; EVENT_NO_TEXT: not known */
};

struct diff {
    const struct diff_options *options;
    size_t traces; /* of both sides: first those before */
    struct diff_whole *wholes;
    struct diff_test span, busy, idle, step;
    bool by_steps; /* all traces tell where a step goes, which explains the difference */
    struct interner names;
    struct pretty_names pretty; /* of kernels, as --names=pretty shows them */
    struct dense_map keys;      /* struct diff_key -> rows */
    ARRAY(struct diff_row) rows;
    bool compared[REPORT_SECTION_COUNT];          /* every trace has what the section needs */
    const char *unrecorded[REPORT_SECTION_COUNT]; /* a trace that was recorded without; NULL: none */
    struct diff_term *terms;                      /* of the difference of the whole, largest first: see diff.c */
    size_t term_count;
    const struct diff_term *causes; /* the terms of a step, else of the run, largest first */
    size_t cause_count;
    double explained[DIFF_SIDES], spans[DIFF_SIDES]; /* sums of causes: a step, else the run; means of runs, ns */
};

/* Reads all traces, one at a time. OPTIONS keep those that have something of what is selected. Returns 0, or -1 after
 * error(). */
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

/* The name that people read; the name as the traces have it is interned(). */
static inline const char *diff_name(const struct diff *diff, const struct diff_row *row)
{
    bool pretty = diff->options->report.names == REPORT_NAMES_PRETTY && row->section == REPORT_KERNELS;
    return interned(&diff->names, pretty ? pretty_names_shown(&diff->pretty, row->name) : row->name);
}

/* Whether the totals and each occurrence of a section are TYPE_NS or TYPE_BYTES; TYPE_COUNT: it has neither. */
enum column_type diff_type(unsigned section);

#endif
