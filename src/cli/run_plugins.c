#include "cli/run_plugins.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/buffer.h"
#include "analysis/stack_text.h"
#include "analysis/render.h"

#define WORTH_TELLING 100 /* part of the program's time */

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

/* Whose words follow: "leaks", or "leaks (process 583)" where several processes have plugins. */
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
        if (!every_time && plugin->ns <= run_ns / WORTH_TELLING)
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
