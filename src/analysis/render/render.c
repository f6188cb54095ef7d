/* Functions that all formats share, and the formats csv and json, which are for programs. */
#include "analysis/render/render.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/base/table.h"

/* If backslashes are special, those that utf8_visible() adds are escaped, too. */
void render_visible(struct buffer *buffer, const char *text, const char *special)
{
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        char shown[UTF8_VISIBLE_BYTES];
        size_t length = utf8_visible(shown, text, left, &size);
        bool escaped = *text != '\\' && *shown == '\\';
        if (strchr(special, escaped ? '\\' : *text))
            buffer_char(buffer, '\\');
        buffer_bytes(buffer, shown, length);
    }
}

void render_ascii(struct buffer *text, size_t start)
{
    static const char *const words[][2] = {{"µ", "u"}, {"×", "x"}, {"…", "..."}, {"·", "-"}};
    size_t to = start;
    for (size_t at = start; at < text->length;) {
        size_t i = 0, count = sizeof(words) / sizeof(*words);
        while (i < count && (text->length - at < strlen(words[i][0]) ||
                             memcmp(text->data + at, words[i][0], strlen(words[i][0])) != 0))
            i++;
        if (i == count) {
            text->data[to++] = text->data[at++];
            continue;
        }
        memcpy(text->data + to, words[i][1], strlen(words[i][1])); /* no replacement is longer than the word */
        to += strlen(words[i][1]);
        at += strlen(words[i][0]);
    }
    text->length = to;
}

size_t render_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* --- sentences --- */

#define WIDTH_UNKNOWN 100 /* for files and pipes; longer lines are hard to read */
#define WIDTH_LEAST 40

size_t render_wrapped(struct buffer *out, const char *text, size_t indent, size_t at, size_t width)
{
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        size_t word = render_width(text, length);
        if (!first && at + 1 + word > width) {
            buffer_format(out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        if (!first)
            buffer_char(out, ' ');
        buffer_bytes(out, text, length);
        at += word + !first;
        first = false;
        text += length + strspn(text + length, " ");
    }
    return at;
}

size_t render_line_width(const struct render *render)
{
    size_t width = render->options->width ? render->options->width : WIDTH_UNKNOWN;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

void render_line(struct render *render, const char *text)
{
    bool markdown = render->format == &renderer_markdown;
    struct buffer shown;
    if (render->format == &renderer_html) {
        page_put_text(&render->page, "headline", text);
        return;
    }
    buffer_init_memory(&shown);
    render_visible(&shown, text, markdown ? RENDER_MARKDOWN : "");
    if (render->options->ascii && !shown.failure)
        render_ascii(&shown, 0);
    buffer_char(&shown, '\0');
    if (!shown.failure) {
        size_t blanks = strspn(shown.data, " ");
        buffer_format(render->out, "%*s", (int)blanks, "");
        render_wrapped(render->out, shown.data + blanks, blanks + 2, blanks,
                       markdown ? SIZE_MAX : render_line_width(render));
        buffer_char(render->out, '\n');
        render->lines += 1 + render_width(shown.data, strlen(shown.data)) / render_line_width(render);
    }
    render->out->failure = render->out->failure ? render->out->failure : shown.failure;
    buffer_release(&shown);
}

/* --- csv --- */

/* Comma-separated values as in RFC 4180. With several traces, each row begins with the trace's file; with several
 * tables, the section follows. An empty line separates tables with other columns. If something was not recorded, a last
 * row names it in the column "name" or the last text column, and its other cells are empty. */

static void write_text(struct buffer *out, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    if (quoted)
        buffer_char(out, '"');
    for (size_t left = strlen(text); left > 0;) {
        size_t size = utf8_size(text, left);
        if (size == 0)
            buffer_text(out, UTF8_REPLACEMENT);
        if (*text == '"')
            buffer_char(out, '"');
        buffer_bytes(out, text, size);
        size = size ? size : 1;
        text += size;
        left -= size;
    }
    if (quoted)
        buffer_char(out, '"');
}

static void begin_csv_row(struct render *render, const char *trace, const char *section)
{
    if (render->several_traces)
        write_text(render->out, trace);
    if (render->several_traces)
        buffer_char(render->out, ',');
    if (render->several_tables)
        buffer_format(render->out, "%s,", section);
}

static void write_csv_row(struct render *render, const struct table *table, size_t row)
{
    begin_csv_row(render, render->path, table->word);
    for (size_t i = 0; i < table_view_count(table); i++) {
        const struct cell *cell = table_cell(table, row, table_view(table, i));
        bool any = table->columns[table_view(table, i)].type == TYPE_ANY;
        enum column_type type = any ? cell->type : table->columns[table_view(table, i)].type;
        struct unit unit = unit_for_machines(type, any ? REPORT_UNIT_NS : render->options->unit);
        if (i > 0)
            buffer_char(render->out, ',');
        if (cell->kind == CELL_TEXT)
            write_text(render->out, table_cell_text(table, cell));
        else if (cell->kind == CELL_INTEGER || cell->kind == CELL_REAL)
            unit_write(render->out, cell, type, &unit);
    }
    buffer_text(render->out, "\r\n");
}

static void write_csv_missing(struct render *render, const struct table *table)
{
    char text[TABLE_MISSING + 32];
    size_t last = table->column_count;
    while (last-- > 0 && table->columns[last].type != TYPE_TEXT)
        ;
    int name = table_find_column(table->columns, table->column_count, "name");
    size_t column = name >= 0 ? (size_t)name : last;
    snprintf(text, sizeof(text), "not recorded: %s", table->missing);
    begin_csv_row(render, render->path, table->word);
    for (size_t i = 0; i < table_view_count(table); i++) {
        if (i > 0)
            buffer_char(render->out, ',');
        if (table_view(table, i) == column)
            write_text(render->out, text);
    }
    buffer_text(render->out, "\r\n");
}

static void csv_table(struct render *render, const struct table *table)
{
    if (render->any && render->several_tables)
        buffer_text(render->out, "\r\n");
    if (!render->any || render->several_tables) {
        begin_csv_row(render, "trace", "section");
        for (size_t i = 0; i < table_view_count(table); i++) {
            const struct column *column = &table->columns[table_view(table, i)];
            struct unit unit = unit_for_machines(column->type, render->options->unit);
            /* The first column is "section" already, so the section that a finding points to is called "more". */
            bool twice = render->several_tables && strcmp(column->word, "section") == 0;
            buffer_format(render->out, "%s%s%s%s", i ? "," : "", twice ? "more" : column->word, *unit.word ? "_" : "",
                          unit.word);
        }
        buffer_text(render->out, "\r\n");
    }
    for (size_t row = 0; row < table->shown; row++)
        write_csv_row(render, table, row);
    if (*table->missing)
        write_csv_missing(render, table);
    render->any = true;
}

const struct renderer renderer_csv = {.table = csv_table};

/* JSON: for one trace an object with its name and an array of rows for each section; for several traces an array of
 * such objects. The key "not_recorded" names what was not recorded. A section about nothing else is null, not empty.
 * Times are nanoseconds and sizes bytes in any case. */

#define KEY_BYTES 64

static void write_json_begin(struct render *render)
{
    json_out_init(&render->json, render->out, true);
    if (render->several_traces)
        json_begin_array(&render->json);
}

static void write_json_trace_begin(struct render *render, const char *path, const char *missing)
{
    json_begin_object(&render->json);
    json_key(&render->json, "trace");
    json_string(&render->json, path);
    if (*missing) {
        /* Write "kernel, memset" as ["kernel", "memset"]. */
        json_key(&render->json, "not_recorded");
        json_begin_array_flat(&render->json);
        for (size_t length; *missing; missing += length + strspn(missing + length, ", ")) {
            length = strcspn(missing, ",");
            json_string_n(&render->json, missing, length);
        }
        json_end(&render->json);
    }
}

static void write_json_table(struct render *render, const struct table *table)
{
    struct json_out *json = &render->json;
    json_key(json, table->word);
    if (table->unrecorded) {
        json_string(&render->json, NULL);
        return;
    }
    json_begin_array(&render->json);
    for (size_t row = 0; row < table->shown; row++) {
        json_begin_object_flat(&render->json);
        for (size_t i = 0; i < table_view_count(table); i++) {
            const struct column *column = &table->columns[table_view(table, i)];
            const struct cell *cell = table_cell(table, row, table_view(table, i));
            struct unit unit = unit_for_machines(column->type, REPORT_UNIT_NS);
            char key[KEY_BYTES];
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
        json_end(&render->json);
    }
    json_end(&render->json);
}

static void write_json_trace_end(struct render *render)
{
    json_end(&render->json);
}

static void write_json_end(struct render *render)
{
    if (render->several_traces)
        json_end(&render->json);
    buffer_text(render->out, "\n");
}

const struct renderer renderer_json = {.begin = write_json_begin,
                                       .trace_begin = write_json_trace_begin,
                                       .table = write_json_table,
                                       .trace_end = write_json_trace_end,
                                       .end = write_json_end};

/* --- call stacks --- */

#define FRAMES_SHOWN 32   /* enough for all stacks but deep recursions */
#define FUNCTION_WIDTH 40 /* longer names push their place to the right */

/* Returns whether FRAME lies between a CUDA call and the agent. The function that the program called does not. */
static bool is_inside_cuda(const struct stack_frame *frame)
{
    bool is_called = frame->function && strncmp(frame->function, "cuda", 4) == 0;
    return frame_owner(frame) == FRAME_CUDA && !is_called;
}

static size_t function_width(const struct stack_frame *frame)
{
    size_t width = frame->function ? render_width(frame->function, strlen(frame->function)) : 0;
    return width <= FUNCTION_WIDTH ? width : 0;
}

static void write_frame(struct buffer *out, const struct stack_frame *frame, const char *indent, size_t width)
{
    buffer_text(out, indent);
    if (frame->function) {
        render_visible(out, frame->function, "");
        size_t used = render_width(frame->function, strlen(frame->function));
        buffer_format(out, "%*s  ", used < width ? (int)(width - used) : 0, "");
    }
    if (frame->file) {
        char here[PATH_MAX];
        size_t length = getcwd(here, sizeof(here)) ? strlen(here) : 0;
        bool below = length > 0 && strncmp(frame->file, here, length) == 0 && frame->file[length] == '/';
        render_visible(out, frame->file + (below ? length + 1 : 0), "");
        if (frame->line > 0)
            buffer_format(out, ":%u", frame->line);
    } else if (frame_is_python(frame)) {
        buffer_text(out, FRAME_PYTHON);
    } else if (frame->module) {
        render_visible(out, frame_base_name(frame->module), "");
        buffer_format(out, "+0x%llx", (unsigned long long)frame->offset);
    } else {
        buffer_format(out, "0x%llx", (unsigned long long)frame->address);
    }
    buffer_char(out, '\n');
}

void frames_write(struct buffer *out, const struct stack_frame *frames, size_t count, const char *indent)
{
    /* Choose the program's own frames: without the innermost frames, which are inside CUDA, and without the frames of
     * the C library that started main() or a thread. If no frame is left, all are written. */
    size_t first = 0, end = count;
    while (first < count && first < FRAMES_BEFORE_CUDA && !is_inside_cuda(&frames[first]))
        first++;
    first = first < FRAMES_BEFORE_CUDA && first < count ? first : 0;
    while (first < count && is_inside_cuda(&frames[first]))
        first++;
    for (size_t i = first; i < end; i++)
        if (!frame_is_python(&frames[i]) && frames[i].function && strcmp(frames[i].function, "main") == 0)
            end = i + 1;
    for (bool start = true; start && end > first; end -= start) {
        const struct stack_frame *frame = &frames[end - 1];
        const char *module = frame_base_name(frame->module);
        bool libc = module && (strncmp(module, "libc.so", 7) == 0 || strncmp(module, "libpthread", 10) == 0);
        start = frame_is_start(frame) || (libc && !frame->function);
    }
    bool any = end > first;
    first = any ? first : 0;
    end = any ? end : count;
    size_t more = end - first > FRAMES_SHOWN ? end - first - FRAMES_SHOWN : 0;
    end -= more;
    /* Find the widest function, so that places are aligned. */
    size_t width = 0;
    for (size_t i = first; i < end; i++) {
        for (size_t k = 0; k < frames[i].inlined_count; k++) {
            size_t inlined = function_width(&frames[i].inlined[k]);
            width = inlined > width ? inlined : width;
        }
        size_t own = function_width(&frames[i]);
        width = own > width ? own : width;
    }
    for (size_t i = first; i < end; i++) {
        for (size_t k = 0; k < frames[i].inlined_count; k++)
            write_frame(out, &frames[i].inlined[k], indent, width);
        write_frame(out, &frames[i], indent, width);
    }
    if (more > 0)
        buffer_format(out, "%s… and %zu more\n", indent, more);
}
