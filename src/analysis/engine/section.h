/*
 * A section of the report: it takes the events of some categories, and fills a table at the end.
 *
 * Most sections are declared by their columns. An event is added to the item of its key (struct tally), and each column
 * names the field of the key or the item that it shows (FROM_KEY, FROM_ITEM) and a function that fills the cell:
 *
 *     struct copy_row {
 *         TALLY_SERIES(times);
 *     };
 *
 *     static int event(void *state, const struct trace *trace, const struct event_fields *event)
 *     {
 *         const struct name_key key = {event->name};
 *         struct copy_row *row = tally_item(state, &key, struct copy_row);
 *         return row ? series_add(&row->times, event->duration) : -1;
 *     }
 *
 *     static const struct column columns[] = {COLUMN_TOTAL(COLUMN_SUM, copy_row, times), COLUMN_NAME};
 *
 *     const struct section section_copies = {
 *         SECTION_COLUMNS(columns),
 *         SECTION_TALLY(struct copy_row),
 *         .sources = {TRACE_MEMCPY},
 *         .sort = "total",
 *         .categories = CATEGORY_BIT(CATEGORY_GPU_MEMCPY),
 *         .event = event,
 *     };
 *
 * A section whose rows are not the items of a tally adds them with section_row() in its function finish().
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_SECTION_H
#define GPUTRACE_ANALYSIS_ENGINE_SECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"
#include "trace/event_fields.h"
#include "analysis/engine/dispatcher.h"
#include "common/dense_map.h"
#include "analysis/engine/heap.h"
#include "analysis/base/options.h"
#include "analysis/base/series.h"
#include "analysis/base/table.h"
#include "analysis/engine/trace.h"

#define SECTION_SOURCES 3

/* --- what is added up for each row --- */

/* All zero is empty. */
struct tally {
    struct dense_map keys;
    void *items; /* by the keys' numbers */
    size_t count, capacity;
};

/* The item, a TYPE, of the key that KEY points to (common/dense_map.h); zeroed when the key is new. NULL: no memory. */
#define tally_item(tally, key, type) ((type *)tally_item_bytes(tally, key, sizeof(*(key)), sizeof(type)))
static inline void *tally_item_bytes(void *state, const void *key, size_t key_size, size_t size)
{
    struct tally *tally = state;
    return dense_map_item_bytes(&tally->keys, key, key_size, &tally->items, &tally->count, &tally->capacity, size);
}

/* A new item without a key. NULL: no memory. */
#define tally_add(tally, type) ((type *)tally_add_bytes(tally, sizeof(type)))
static inline void *tally_add_bytes(void *state, size_t size)
{
    struct tally *tally = state;
    return array_push_bytes(&tally->items, &tally->count, &tally->capacity, size);
}

/* The first member of an item: struct series of these names, which are released with the tally. */
/* clang-format off */
#define TALLY_SERIES(...)                                                                                 \
    union {                                                                                               \
        struct { struct series __VA_ARGS__; };                                                            \
        struct series series[sizeof(struct { struct series __VA_ARGS__; }) / sizeof(struct series)];      \
    }
/* The number of these series. It does not compile for an item that has none, or has them elsewhere. */
#define TALLY_SERIES_COUNT(type)                                                                          \
    ((unsigned)(sizeof(((type *)0)->series) / sizeof(struct series)                                       \
                * sizeof(struct { _Static_assert(offsetof(type, series) == 0, "not first"); char one; })))
/* clang-format on */

/* Items are of SIZE bytes and begin with SERIES struct series, which are released too. */
void tally_release(struct tally *tally, size_t size, unsigned series);

/* The key of most rows. */
struct name_key {
    uint64_t name; /* of trace.strings */
};

/* --- a row of the table in the making --- */

struct report_row {
    const struct trace *trace;
    struct table *table;
    void *state;   /* of the section */
    size_t number; /* of the key and the item in the tally */
    const void *key, *item;
    const struct series *summarised; /* what the summary is of */
    struct summary summary;
};

/* Adds a row to the table, and fills it as its columns say from KEY and ITEM. If there is no memory for it, or for a
 * text of it, the table remembers that. */
void section_row(struct report_row *row, const void *key, const void *item);
/* Adds a row for each of COUNT ITEMS of SIZE bytes, whose keys are KEYS (NULL: they have none); or for each of ARRAY.
 */
void section_rows(struct report_row *row, const struct dense_map *keys, const void *items, size_t count, size_t size);
/* The same in the order of COMPARE, of two items; equal ones as they came. */
void section_rows_ordered(struct report_row *row, const struct dense_map *keys, const void *items, size_t count,
                          size_t size, int (*compare)(const void *left, const void *right));
#define section_array(row, keys, array) section_rows(row, keys, (array)->items, (array)->count, sizeof(*(array)->items))

/* Which field a column shows. */
#define FROM_KEY(type, field) .of_key = true, FROM_ITEM(type, field)
#define FROM_ITEM(type, field) .at = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)

/* The field of ROW that COLUMN shows; and its value when it is an integer of 32 or 64 bits. */
const void *row_field(const struct report_row *row, const struct column *column);
int64_t row_integer(const struct report_row *row, const struct column *column);

/* Fill a cell from a struct series, … */
struct cell fill_share(struct report_row *row, const struct column *column); /* its total, of the sum of all rows */
struct cell fill_count(struct report_row *row, const struct column *column);
struct cell fill_total(struct report_row *row, const struct column *column); /* this and the next: empty of no values */
struct cell fill_average(struct report_row *row, const struct column *column);
struct cell fill_median(struct report_row *row, const struct column *column);
struct cell fill_min(struct report_row *row, const struct column *column);
struct cell fill_max(struct report_row *row, const struct column *column);
struct cell fill_deviation(struct report_row *row, const struct column *column);
/* … from an integer, … */
struct cell fill_number(struct report_row *row, const struct column *column); /* empty for FIELD_ABSENT */
struct cell fill_some(struct report_row *row, const struct column *column);   /* empty for 0 */
struct cell fill_time(struct report_row *row,
                      const struct column *column); /* since the start; empty for FIELD_ABSENT */
struct cell fill_name(struct report_row *row, const struct column *column);    /* a text of trace.strings */
struct cell fill_gpu(struct report_row *row, const struct column *column);     /* the id of a GPU by its index */
struct cell fill_process(struct report_row *row, const struct column *column); /* empty where all is of one process */
struct cell fill_error(struct report_row *row, const struct column *column);   /* of CUDA's driver; empty for success */
struct cell fill_place(struct report_row *row, const struct column *column);   /* the place of a call stack */
struct cell fill_stack(struct report_row *row, const struct column *column);   /* the call stack */
/* … from a struct errors, or from a struct cell, which is copied. */
struct cell fill_errors(struct report_row *row, const struct column *column);
struct cell fill_cell(struct report_row *row, const struct column *column);

/* TEXT as trace_said() says it. */
struct cell row_said(const struct report_row *row, const char *text);

/* Columns of the struct series FIELD of an item. */
#define COLUMN_SHARE(item, field) {"time", "Time", TYPE_PERCENT, COLUMN_SUM, fill_share, FROM_ITEM(item, field)}
#define COLUMN_TOTAL(flags, item, field) \
    {"total", "Total", TYPE_NS, (flags) | COLUMN_APART, fill_total, FROM_ITEM(item, field)}
#define COLUMN_COUNT(word, title, flags, item, field) \
    {word, title, TYPE_COUNT, flags, fill_count, FROM_ITEM(item, field)}
/* WHAT follows each title. */
#define COLUMNS_SUMMARY(what, type, item, field)                                             \
    {"avg", "Avg" what, type, 0, fill_average, FROM_ITEM(item, field), .importance = 60},    \
        {"med", "Med" what, type, 0, fill_median, FROM_ITEM(item, field), .importance = 40}, \
        {"min", "Min" what, type, 0, fill_min, FROM_ITEM(item, field), .importance = 30},    \
        {"max", "Max" what, type, 0, fill_max, FROM_ITEM(item, field), .importance = 50},    \
        {"stddev", "StdDev" what, type, 0, fill_deviation, FROM_ITEM(item, field), .importance = 20}
#define COLUMN_NAME {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_KEY(name_key, name)}

/* --- sections --- */

/*
 * How `gputrace diff` compares the rows of a section between traces. Columns are named by their words.
 */
struct comparable {
    const char *noun;    /* "kernel": for sentences and --fail-on; NULL: the section is not compared */
    const char *keys[4]; /* rows of two traces with the same values in these columns are one */
    const char *total;   /* what a row took in all: time or bytes; NULL: nothing but its count */
    const char *count;   /* how often it occurred; NULL: not counted */
    const char *each;    /* a column that shows a struct series: what one occurrence took; NULL: not known */
    enum comparable_part { PART_OF_NONE, PART_OF_GPU_TIME, PART_OF_IDLE_TIME } part; /* what its totals add up to */
    /* How far two runs of one program may differ; diff_values.h has the figures. */
    enum comparable_floor { FLOOR_SIZE, FLOOR_GPU, FLOOR_COPY, FLOOR_OPERATOR, FLOOR_HOST, FLOOR_COUNT } floor;
};

struct section {
    const struct column *columns;
    size_t column_count;
    const char *sort; /* its own order: the word of a column; NULL: as rows come */
    size_t usual;     /* rows that are shown without -r; 0: it is not shown then */
    bool listing;     /* see struct table */
    bool headed;      /* likewise */
    bool paragraphs;  /* likewise */
    const char *none; /* what people read in place of rows; NULL: the usual */
    struct comparable comparable;
    unsigned categories; /* CATEGORY_BIT() of those it wants to see; of CATEGORY_OTHER too where it says so */
    /*
     * What it is made of, as bits of enum trace_bits. It is not recorded where all bits of one of the SOURCES, those
     * that are not 0, were left out by --trace. A part that was left out is named below its rows, if it has any.
     */
    uint64_t sources[SECTION_SOURCES], parts;
    size_t state_size; /* bytes of its state, which starts as zeros */
    /* If item_size is not 0, the state begins with a struct tally, whose items have so many bytes and begin with so
     * many struct series. */
    size_t item_size;
    unsigned series;
    struct trace_wanted looks_at;
    /* Sections whose states finish() looks at, by section_state(): REPORT_BIT() of each. They are gathered, and not
     * shown unless they are wanted. */
    uint64_t needs;
    void (*init)(void *state, const struct trace *trace); /* before the first event; NULL: zeros will do */
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
    /* Adds the table's rows after trace_finish(). ROW has the trace, the table, which remembers that there was no
     * memory, and the state. NULL: a row for each item of the tally. */
    void (*finish)(struct report_row *row);
    void (*release)(void *state); /* all but the tally; NULL: nothing */
};

#define SECTION_COLUMNS(list) .columns = (list), .column_count = sizeof(list) / sizeof(*(list))
/* The state is a tally of items of TYPE that begin with TALLY_SERIES(), or a struct that begins with such a tally.
 * Items of a plain tally have no series. */
#define SECTION_TALLY(type) .state_size = sizeof(struct tally), SECTION_STATE_TALLY(type)
#define SECTION_STATE_TALLY(type) .item_size = sizeof(type), .series = TALLY_SERIES_COUNT(type)
#define SECTION_PLAIN_TALLY(type) .state_size = sizeof(struct tally), SECTION_STATE_PLAIN_TALLY(type)
#define SECTION_STATE_PLAIN_TALLY(type) .item_size = sizeof(type)

#define SECTION(constant, name, ...) extern const struct section section_##name;
REPORT_SECTIONS(SECTION, SECTION)
#undef SECTION
extern const struct section section_memory_snapshot; /* in place of section_memory where --snapshot names a time */

/* By enum report_section. */
extern const struct section_entry {
    const char *word, *title; /* for programs; for people */
    const struct section *section;
    enum report_section part_of; /* itself: it is a word of -r */
    const char *question;        /* NULL: it is a part of another one */
} section_list[];

/* Section NUMBER, as it is with these options; NULL: it is not wanted. */
const struct section *section_wanted(const struct report_options *options, unsigned number);

/* In finish(): the state of section NUMBER, which the section needs. NULL: that one has none. */
static inline const void *section_state(const struct trace *trace, enum report_section number)
{
    return trace->states[number];
}

/* --- one trace, and its wanted sections: they get its events after the trace itself, and then its GPU operations ---
 */

struct sections {
    struct trace trace;
    struct heap heap; /* the trace's, where a section looks at it */
    struct dispatcher dispatcher;
    const void *states[REPORT_SECTION_COUNT];
    struct sections_one {
        const struct section *section; /* NULL: it is neither wanted nor needed */
        bool shown;                    /* it is wanted */
        const struct trace *trace;
        void *state; /* NULL: it has none */
    } all[REPORT_SECTION_COUNT];
};

/* Returns 0, or -1 after error(). OPTIONS outlive SECTIONS, which stay where they are. */
int sections_init(struct sections *sections, const struct report_options *options);
void sections_release(struct sections *sections);

/* After the last event: finishes the trace, and brings the sections to where they can fill their tables. Returns 0, or
 * -1 after error(). */
int sections_finish(struct sections *sections);
/* Fills TABLE with the rows of section NUMBER. Returns 0, or -1: no memory. */
int sections_fill(struct sections *sections, unsigned number, struct table *table);

#endif
