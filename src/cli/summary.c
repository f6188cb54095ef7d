#include "cli/summary.h"

#include <string.h>

#include "common/log.h"
#include "common/buffer.h"
#include "trace/build/passes.h"
#include "analysis/render.h"
#include "trace/output.h"
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
    const char *separator = "; not whole: ";
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
    int name = ending ? (int)(ending - output) : (int)strlen(output);
    if (output_format(output) != &pftrace && summary->unpacked > BROWSER_MAX)
        buffer_format(line,
                      "; too large for a browser: 'gputrace convert %s %.*s.pftrace' makes it smaller, "
                      "'gputrace report %s' reads it as it is",
                      output, name, output, output);
    else
        buffer_format(line, "; to look at it, open " VIEWER " or run 'gputrace report %s'", output);
}

void summary_print(const char *output, const struct convert_summary *summary)
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
    if (*summary->missed) {
        buffer_text(&line, "; ");
        render_visible(&line, summary->missed, "");
    }
    buffer_char(&line, '\0');
    if (buffer_finish(&line) == 0)
        notice("%s", line.data);
    buffer_release(&line);
}
