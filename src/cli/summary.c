#include "cli/summary.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/render/render.h"
#include "analysis/render/stack_text.h"
#include "cli/output_name.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/shell_word.h"
#include "trace/build/passes.h"
#include "trace/format.h"
#include "trace/sink.h"

#define VIEWER "https://ui.perfetto.dev"

void summary_put_size(struct buffer *buffer, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    double size = (double)bytes;
    for (; size >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        size /= 1000;
    buffer_format(buffer, "%.*f %s", unit == 0 || size >= 99.95 ? 0 : 1, size, units[unit]);
}

static void put_losses(struct buffer *buffer, const struct convert_losses *losses)
{
    const char *separator = "; incomplete: ";
#define PUT(field, words)                  \
    if (losses->field) {                   \
        buffer_text(buffer, separator);    \
        buffer_u64(buffer, losses->field); \
        buffer_text(buffer, " " words);    \
        separator = ", ";                  \
    }
    CONVERT_LOSSES(PUT)
#undef PUT
}

bool summary_is_incomplete(const struct convert_summary *summary)
{
    uint64_t all = 0;
#define ADD(field, words) all |= summary->losses.field;
    CONVERT_LOSSES(ADD)
#undef ADD
    return all != 0 || *summary->missed;
}

/* Of JSON a browser needs all text at once, and some times as much memory. */
#define BROWSER_MAX UINT64_C(500000000)

/* How to look at it. */
static void put_way_on(struct buffer *line, const char *output, const struct convert_summary *summary)
{
    const char *ending = strstr(output, ".json");
    char smaller[PATH_MAX + 16];
    snprintf(smaller, sizeof(smaller), "%.*s.pftrace", ending ? (int)(ending - output) : (int)strlen(output), output);
    if (file_format_of(output)->packing == PACKING_DATABASE)
        buffer_format(line, "; to look at it, run 'sqlite3 %s' (gputrace-convert(1) has queries)", shell_file(output));
    else if (file_format_of(output)->sink == &chrome_json && summary->unpacked > BROWSER_MAX)
        buffer_format(line,
                      "; too large for a browser: 'gputrace convert %s %s' makes it smaller, "
                      "'gputrace report %s' reads it as it is",
                      shell_file(output), shell_file(smaller), shell_file(output));
    else
        buffer_format(line, "; to look at it, open " VIEWER " or run 'gputrace report %s'", shell_file(output));
}

/* What became of a file that had the trace's name. */
static void put_place(struct buffer *line, const struct output_place *place)
{
    int asked = (int)strlen(place->old) - 4; /* ".old" */
    if (place->moved)
        buffer_format(line, "; the trace before it is '%s'", place->old);
    if (place->numbered)
        buffer_format(line, "; '%.*s' is of another run", asked, place->old);
}

void summary_print(const char *output, const struct convert_summary *summary, const struct output_place *place)
{
    struct buffer line;
    buffer_init_memory(&line);
    buffer_u64(&line, summary->events);
    buffer_format(&line, " event%s in '%s' (", summary->events == 1 ? "" : "s", output);
    summary_put_size(&line, summary->bytes);
    buffer_char(&line, ')');
    put_losses(&line, &summary->losses);
    if (summary->events > 0 && !summary->missed_all)
        put_way_on(&line, output, summary);
    if (place)
        put_place(&line, place);
    if (*summary->missed) {
        buffer_text(&line, "; ");
        render_visible(&line, summary->missed, "");
    }
    buffer_char(&line, '\0');
    if (buffer_finish(&line) == 0)
        notice("%s", line.data);
    buffer_release(&line);
}

#define WORTH_PRINTING 100 /* part of the program's time */

/* "1,234,567" */
static void put_count(struct buffer *out, uint64_t count)
{
    if (count >= 1000) {
        put_count(out, count / 1000);
        buffer_format(out, ",%03u", (unsigned)(count % 1000));
    } else {
        buffer_u64(out, count);
    }
}

static void put_time(struct buffer *out, uint64_t ns)
{
    if (ns >= NS_PER_S)
        buffer_format(out, "%.2f s", (double)ns / (double)NS_PER_S);
    else
        buffer_format(out, "%.1f ms", (double)ns / (double)NS_PER_MS);
}

/* The name before a message: "leaks", or "leaks (process 583)" where several processes have plugins. */
static void put_name(struct buffer *out, const struct convert_plugins *plugins, const struct convert_plugin *plugin)
{
    bool several = plugins->items[0].pid != plugins->items[plugins->count - 1].pid;
    render_visible(out, plugin->name, "");
    if (several)
        buffer_format(out, " (process %u)", plugin->pid);
}

static void put_line(struct buffer *out, const struct convert_plugins *plugins, const struct convert_plugin *plugin,
                     const struct convert_line *line)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_bytes(&text, line->text, line->length);
    buffer_char(&text, '\0');
    buffer_text(out, "gputrace: ");
    put_name(out, plugins, plugin);
    buffer_text(out, ": ");
    if (buffer_finish(&text) == 0)
        render_visible(out, text.data, "");
    buffer_char(out, '\n');
    buffer_release(&text);
    frames_write(out, line->frames, line->frame_count, "    ");
}

void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const struct convert_plugin *plugin = &plugins->items[i];
        for (size_t k = 0; k < plugin->line_count; k++)
            put_line(out, plugins, plugin, &plugin->lines[k]);
    }
    for (size_t i = 0; i < plugins->count; i++) {
        const struct convert_plugin *plugin = &plugins->items[i];
        if (!every_time && plugin->ns <= run_ns / WORTH_PRINTING)
            continue;
        buffer_text(out, "gputrace: plugin ");
        put_name(out, plugins, plugin);
        buffer_text(out, ": ");
        put_count(out, plugin->calls);
        buffer_text(out, plugin->calls == 1 ? " call, " : " calls, ");
        put_time(out, plugin->ns);
        buffer_char(out, '\n');
    }
}
