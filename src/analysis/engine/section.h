/*
 * A section of the report reads the events of some categories, and fills a table at the end.
 *
 * Most sections are declared by their columns. event() adds an event to the item of its key (struct tally). Each column
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
#include "common/map.h"
#include "analysis/engine/heap.h"
#include "analysis/base/options.h"
#include "analysis/base/series.h"
#include "analysis/base/table.h"
#include "analysis/engine/trace.h"

#define SECTION_SOURCES 3

/* --- tallies: sums for each row --- */

/* Maps keys to items, which are the rows of a section. All zero is empty. */
struct tally {
    struct dense_map keys;
    void *items; /* by the numbers of the keys */
    size_t count, capacity;
};

/* Returns the item, a TYPE, of *KEY (common/map.h). The item of a new key is all zero. Returns NULL without memory. */
#define tally_item(tally, key, type) ((type *)tally_item_bytes(tally, key, sizeof(*(key)), sizeof(type)))
static inline void *tally_item_bytes(void *state, const void *key, size_t key_size, size_t size)
{
    struct tally *tally = state;
    return dense_map_item_bytes(&tally->keys, key, key_size, &tally->items, &tally->count, &tally->capacity, size);
}

/* The item with this number. */
#define TALLY_AT(tally, type, number) ((type *)(tally)->items + (number))
/* Adds an item without a key, and returns it. Returns NULL without memory. */
#define tally_add(tally, type) ((type *)tally_add_bytes(tally, sizeof(type)))
static inline void *tally_add_bytes(void *state, size_t size)
{
    struct tally *tally = state;
    return array_push_bytes(&tally->items, &tally->count, &tally->capacity, size);
}

/* Must be the first member of an item. Declares a struct series for each name, which tally_release() releases. */
/* clang-format off */
#define TALLY_SERIES(...)                                                                                 \
    union {                                                                                               \
        struct { struct series __VA_ARGS__; };                                                            \
        struct series series[sizeof(struct { struct series __VA_ARGS__; }) / sizeof(struct series)];      \
    }
/* The number of series of an item. It compiles only for items that begin with TALLY_SERIES(). */
#define TALLY_SERIES_COUNT(type)                                                                          \
    ((unsigned)(sizeof(((type *)0)->series) / sizeof(struct series)                                       \
                * sizeof(struct { _Static_assert(offsetof(type, series) == 0, "not first"); char one; })))
/* clang-format on */

/* Releases a tally whose items have SIZE bytes and begin with SERIES struct series. */
void tally_release(struct tally *tally, size_t size, unsigned series);

/* The key of rows by name. */
struct name_key {
    uint64_t name; /* of trace.strings */
};

/* --- the row that is being filled --- */

struct report_row {
    const struct trace *trace;
    struct table *table;
    void *state;   /* of the section */
    size_t number; /* of the key and the item in the tally */
    const void *key, *item;
    const struct series *summarised; /* the series whose summary is in `summary`; NULL: none */
    struct summary summary;
};

/* Adds a row to the table, and fills its cells from KEY and ITEM by the functions of the columns. Without memory, sets
 * table.no_memory. */
void section_row(struct report_row *row, const void *key, const void *item);
/* Adds a row for each of COUNT ITEMS of SIZE bytes. KEYS has their keys, and may be NULL. */
void section_rows(struct report_row *row, const struct dense_map *keys, const void *items, size_t count, size_t size);
/* Adds rows as section_rows() does, but sorted by COMPARE, which compares two items. */
void section_rows_ordered(struct report_row *row, const struct dense_map *keys, const void *items, size_t count,
                          size_t size, int (*compare)(const void *left, const void *right));
#define section_array(row, keys, array) section_rows(row, keys, (array)->items, (array)->count, sizeof(*(array)->items))

/* The field that a column shows. */
#define FROM_KEY(type, field) .of_key = true, FROM_ITEM(type, field)
#define FROM_ITEM(type, field) .at = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)

/* The field that the shown field is divided by, an int64_t of the item. */
#define PER_ITEM(type, field) .per = offsetof(struct type, field)

/* row_field() returns the field of ROW that COLUMN shows, row_integer() its value, which must have 32 or 64 bits. */
const void *row_field(const struct report_row *row, const struct column *column);
int64_t row_integer(const struct report_row *row, const struct column *column);

/* Defines fill_NAME(), which fills a cell with VALUE, an expression of ROW and COLUMN. */
#define FILL(name, value)                                                        \
    struct cell fill_##name(struct report_row *row, const struct column *column) \
    {                                                                            \
        return value;                                                            \
    }
#define ROW_KEY(type) ((const struct type *)row->key)
#define ROW_ITEM(type) ((const struct type *)row->item)
#define ROW_STATE(type) ((struct type *)row->state)

/* These fill a cell from a struct series: */
struct cell fill_share(struct report_row *row, const struct column *column); /* its share of the total of all rows */
struct cell fill_count(struct report_row *row, const struct column *column);
struct cell fill_total(struct report_row *row,
                       const struct column *column); /* this and the next: empty without values */
struct cell fill_average(struct report_row *row, const struct column *column);
struct cell fill_median(struct report_row *row, const struct column *column);
struct cell fill_min(struct report_row *row, const struct column *column);
struct cell fill_max(struct report_row *row, const struct column *column);
struct cell fill_deviation(struct report_row *row, const struct column *column);
/* These fill a cell from an integer: */
struct cell fill_number(struct report_row *row, const struct column *column); /* empty for FIELD_ABSENT */
struct cell fill_some(struct report_row *row, const struct column *column);   /* empty for 0 */
struct cell fill_time(struct report_row *row,
                      const struct column *column); /* since the start; empty for FIELD_ABSENT */
struct cell fill_name(struct report_row *row, const struct column *column);    /* a text of trace.strings */
struct cell fill_gpu(struct report_row *row, const struct column *column);     /* the id of a GPU, from its index */
struct cell fill_process(struct report_row *row, const struct column *column); /* empty if there is only one process */
struct cell fill_error(struct report_row *row, const struct column *column);   /* of CUDA's driver; empty for success */
struct cell fill_place(struct report_row *row, const struct column *column);   /* the place of a call stack */
struct cell fill_stack(struct report_row *row, const struct column *column);   /* the call stack */
/* These divide an integer by the field of PER_ITEM(). The cell is empty unless the divisor is above 0. */
struct cell fill_quotient(struct report_row *row, const struct column *column);
struct cell fill_percent(struct report_row *row, const struct column *column);
/* fill_errors() fills a cell from a struct errors; fill_cell() copies a struct cell. */
struct cell fill_errors(struct report_row *row, const struct column *column);
struct cell fill_cell(struct report_row *row, const struct column *column);

/* Returns a cell with trace_phrase() of TEXT. */
struct cell row_phrase(const struct report_row *row, const char *text);

/* Columns of the struct series FIELD of an item. */
#define COLUMN_SHARE(item, field) {"time", "Time", TYPE_PERCENT, COLUMN_SUM, fill_share, FROM_ITEM(item, field)}
#define COLUMN_TOTAL(flags, item, field) \
    {"total", "Total", TYPE_NS, (flags) | COLUMN_APART, fill_total, FROM_ITEM(item, field)}
#define COLUMN_COUNT(word, title, flags, item, field) \
    {word, title, TYPE_COUNT, flags, fill_count, FROM_ITEM(item, field)}
/* WHAT is appended to each title. */
#define COLUMNS_SUMMARY(what, type, item, field)                                             \
    {"avg", "Avg" what, type, 0, fill_average, FROM_ITEM(item, field), .importance = 60},    \
        {"med", "Med" what, type, 0, fill_median, FROM_ITEM(item, field), .importance = 40}, \
        {"min", "Min" what, type, 0, fill_min, FROM_ITEM(item, field), .importance = 30},    \
        {"max", "Max" what, type, 0, fill_max, FROM_ITEM(item, field), .importance = 50},    \
        {"stddev", "StdDev" what, type, 0, fill_deviation, FROM_ITEM(item, field), .importance = 20}
#define COLUMN_NAME {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_KEY(name_key, name)}

/* --- sections --- */

/* How `gputrace diff` compares the rows of a section between traces. Columns are named by their words. */
struct comparable {
    const char *noun;    /* "kernel": for sentences and --fail-on; NULL: the section is not compared */
    const char *keys[4]; /* rows of two traces are compared if these columns are equal */
    const char *total;   /* the total time or bytes of a row; NULL: only its count */
    const char *count;   /* how often the row occurred; NULL: not counted */
    const char *each;    /* a column of a struct series with a value per occurrence; NULL: none */
    enum comparable_part { PART_OF_NONE, PART_OF_GPU_TIME, PART_OF_IDLE_TIME } part; /* what the totals add up to */
    /* How far two runs of one program may differ; diff_values.h has the figures. */
    enum comparable_floor { FLOOR_SIZE, FLOOR_GPU, FLOOR_COPY, FLOOR_OPERATOR, FLOOR_HOST, FLOOR_COUNT } floor;
};

struct section {
    const struct column *columns;
    size_t column_count;
    const char *sort; /* the word of the column that sorts the rows; NULL: not sorted */
    size_t usual;     /* rows that are shown without -r; 0: the section is then not shown */
    bool listing;     /* see struct table */
    bool headed;      /* see struct table */
    bool paragraphs;  /* see struct table */
    const char *none; /* the text that is shown if there are no rows; NULL: a default text */
    struct comparable comparable;
    unsigned categories; /* CATEGORY_BIT() of the events that event() reads */
    /*
     * What the section shows, as bits of enum trace_bits. The section counts as unrecorded if --trace left out all bits
     * of an element of `sources` that is not 0. Bits of `parts` that --trace left out are named below the rows.
     */
    uint64_t sources[SECTION_SOURCES], parts;
    size_t state_size; /* bytes of its state, which starts as zeros */
    /* If `item_size` is not 0, the state begins with a struct tally, whose items have that many bytes and begin with
     * `series` struct series. */
    size_t item_size;
    unsigned series;
    /* Compares two items of the tally. It orders rows that are equal in the column `sort`. NULL: they stay in the order
     * of the items. */
    int (*order)(const void *left, const void *right);
    struct trace_wanted indexes; /* the members of struct trace that it reads */
    /* REPORT_BIT() of the sections whose states finish() reads by section_state(). These sections are gathered, but
     * shown only if they are wanted. */
    uint64_t needs;
    void (*init)(void *state, const struct trace *trace); /* called before the first event; may be NULL */
    /* Called for every GPU operation after trace_finish(), with the call that started it or NULL. Returns 0, or -1: no
     * memory. May be NULL. */
    int (*gpu_op)(void *state, const struct trace *trace, const struct gpu_op *op, const struct call *call);
    /* Called after trace_finish(), for several sections in parallel. A section has gather() or gpu_op(), not both.
     * Returns 0, or -1: no memory, or after error(). May be NULL. */
    int (*gather)(void *state, const struct trace *trace);
    /* Called for every event of `categories`, while other threads change the trace: it may use only the trace's
     * options, the texts of the event and trace.space. Returns 0, or -1: no memory. May be NULL. */
    int (*event)(void *state, const struct trace *trace, const struct event_fields *event);
    /* Adds the rows of the table after trace_finish(). ROW has the trace, the state and the table. Without memory, it
     * sets table.no_memory. NULL: there is a row for each item of the tally. */
    void (*finish)(struct report_row *row);
    void (*release)(void *state); /* releases all but the tally; may be NULL */
};

#define SECTION_COLUMNS(list) .columns = (list), .column_count = sizeof(list) / sizeof(*(list))
/* Declare that the state is a tally of items of TYPE (SECTION_STATE_…: a struct that begins with such a tally).
 * Items begin with TALLY_SERIES(), except in a PLAIN_TALLY. */
#define SECTION_TALLY(type) .state_size = sizeof(struct tally), SECTION_STATE_TALLY(type)
#define SECTION_STATE_TALLY(type) .item_size = sizeof(type), .series = TALLY_SERIES_COUNT(type)
#define SECTION_PLAIN_TALLY(type) .state_size = sizeof(struct tally), SECTION_STATE_PLAIN_TALLY(type)
#define SECTION_STATE_PLAIN_TALLY(type) .item_size = sizeof(type)

#define SECTION(constant, name, ...) extern const struct section section_##name;
REPORT_SECTIONS(SECTION, SECTION)
#undef SECTION
extern const struct section section_memory_snapshot; /* replaces section_memory if --snapshot is used */

/* All sections, by enum report_section. */
extern const struct section_entry {
    const char *word, *title; /* for programs; for people */
    const struct section *section;
    enum report_section part_of; /* the section itself if it is a word of -r */
    const char *question;        /* NULL: it is a part of another section */
} section_list[];

/* Returns section NUMBER if OPTIONS want it, else NULL. */
const struct section *section_wanted(const struct report_options *options, unsigned number);

/* Returns the state of section NUMBER, or NULL if it has none. For finish() of sections whose `needs` has the
 * section. */
static inline const void *section_state(const struct trace *trace, enum report_section number)
{
    return trace->states[number];
}

/* --- a trace and its wanted sections, which receive events after the trace itself, and then GPU operations --- */

struct sections {
    struct trace trace;
    struct heap heap; /* trace.heap, if a section reads it */
    struct dispatcher dispatcher;
    const void *states[REPORT_SECTION_COUNT];
    uint64_t began; /* CLOCK_MONOTONIC, ns */
    struct section_instance {
        const struct section *section; /* NULL: it is neither wanted nor needed */
        bool shown;                    /* it is wanted */
        unsigned number;               /* enum report_section */
        const struct trace *trace;
        void *state; /* NULL: it has none */
    } all[REPORT_SECTION_COUNT];
};

/* Returns 0, or -1 after error(). OPTIONS must outlive SECTIONS, and SECTIONS must not be moved. */
int sections_init(struct sections *sections, const struct report_options *options);
void sections_release(struct sections *sections);

/* Finishes the trace after the last event, so that the sections can fill their tables. Returns 0, or -1 after error().
 */
int sections_finish(struct sections *sections);
/* Fills TABLE with the rows of section NUMBER. Returns 0, or -1: no memory. */
int sections_fill(struct sections *sections, unsigned number, struct table *table);

/* --- rows of sections that have a `comparable`, which `gputrace diff` and the report of a job join --- */

struct buffer;

#define COMPARABLE_KEYS (sizeof(((struct comparable *)0)->keys) / sizeof(char *))

/* Indices of columns of a section; -1: it does not have the column. */
struct comparable_columns {
    int keys[COMPARABLE_KEYS];
    int total, count;
};

struct comparable_columns comparable_columns_of(const struct section *section);
/* Returns the index of the column called WORD, or -1 if there is none or WORD is NULL. */
int comparable_column(const struct section *section, const char *word);

/* Returns the cell of ROW, a number in the unsorted order of rows. Returns an empty cell if COLUMN is -1. */
const struct cell *comparable_cell(const struct table *table, size_t row, int column);
/* comparable_has_number() returns whether the cell is a number, comparable_number() the number, or 0 if it is not. */
bool comparable_has_number(const struct table *table, size_t row, int column);
double comparable_number(const struct table *table, size_t row, int column);

/* Appends the values of the key columns to NAME, separated by blanks. Numbers follow their column's title: "GPU 0". */
void comparable_write_name(struct buffer *name, const struct table *table, size_t row,
                           const struct comparable_columns *columns);

#endif
