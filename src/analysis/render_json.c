/* JSON: for one trace an object with its name and an array of rows for each section; for several an array of these.
 * What was not recorded is named by the key "not_recorded", and a section that is about it alone is null, not empty.
 * Times are nanoseconds and sizes bytes, whatever unit was asked for. */
#include <stdio.h>
#include <string.h>

#include "common/sink.h"
#include "analysis/render.h"
#include "analysis/table.h"
#include "analysis/units.h"

#define KEY_BYTES 64

static void begin(struct render *render)
{
    json_out_init(&render->json, render->out, true);
    if (render->several_traces)
        json_begin_array(&render->json);
}

/* ["kernel", "memset"] of "kernel, memset". */
static void write_missing(struct json_out *json, const char *missing)
{
    json_key(json, "not_recorded");
    json_begin_array_flat(json);
    for (size_t length; *missing; missing += length + strspn(missing + length, ", ")) {
        length = strcspn(missing, ",");
        json_string_n(json, missing, length);
    }
    json_end(json);
}

static void trace_begin(struct render *render, const char *path, const char *missing)
{
    json_begin_object(&render->json);
    json_key(&render->json, "trace");
    json_string(&render->json, path);
    if (*missing)
        write_missing(&render->json, missing);
}

static void write_cell(struct json_out *json, const struct table *table, const struct column *column,
                       const struct cell *cell)
{
    char key[KEY_BYTES];
    struct unit unit = unit_for_machines(column->type, REPORT_UNIT_NS);
    snprintf(key, sizeof(key), "%s%s%s", column->word, *unit.word ? "_" : "", unit.word);
    json_key(json, key);
    switch (cell->kind) {
    case CELL_NONE:
    case CELL_UNRECORDED: json_string(json, NULL); break;
    case CELL_INTEGER: json_i64(json, cell->integer); break;
    case CELL_REAL: json_double(json, cell->real, -1); break;
    case CELL_TEXT: json_string(json, table_cell_text(table, cell)); break;
    }
}

static void table(struct render *render, const struct table *table)
{
    json_key(&render->json, table->word);
    if (table->unrecorded) {
        json_string(&render->json, NULL);
        return;
    }
    json_begin_array(&render->json);
    for (size_t row = 0; row < table->shown; row++) {
        json_begin_object_flat(&render->json);
        for (size_t i = 0; i < table->column_count; i++)
            write_cell(&render->json, table, &table->columns[i], table_cell(table, row, i));
        json_end(&render->json);
    }
    json_end(&render->json);
}

static void trace_end(struct render *render)
{
    json_end(&render->json);
}

static void end(struct render *render)
{
    if (render->several_traces)
        json_end(&render->json);
    sink_text(render->out, "\n");
}

const struct renderer renderer_json = {
    .begin = begin, .trace_begin = trace_begin, .table = table, .trace_end = trace_end, .end = end};
