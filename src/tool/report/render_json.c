/* JSON: for one trace an object with its name and an array of rows for each section; for several an array of these.
 * Times are nanoseconds and sizes bytes, whatever unit was asked for. */
#include <stdio.h>

#include "base/sink.h"
#include "tool/report/render.h"
#include "tool/report/table.h"
#include "tool/report/units.h"

#define KEY_BYTES 64

static void begin(struct render *render)
{
    json_out_init(&render->json, render->out, true);
    if (render->several_traces)
        json_begin_array(&render->json);
}

static void trace_begin(struct render *render, const char *path)
{
    json_begin_object(&render->json);
    json_key(&render->json, "trace");
    json_string(&render->json, path);
}

static void write_cell(struct json_out *json, const struct table *table, const struct column *column,
                       const struct cell *cell)
{
    char key[KEY_BYTES];
    struct unit unit = unit_for_machines(column->type, REPORT_UNIT_NS);
    snprintf(key, sizeof(key), "%s%s%s", column->word, *unit.word ? "_" : "", unit.word);
    json_key(json, key);
    switch (cell->kind) {
    case CELL_NONE: json_string(json, NULL); break;
    case CELL_INTEGER: json_i64(json, cell->integer); break;
    case CELL_REAL: json_double(json, cell->real, -1); break;
    case CELL_TEXT: json_string(json, table_cell_text(table, cell)); break;
    }
}

static void table(struct render *render, const struct table *table)
{
    json_key(&render->json, table->word);
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
