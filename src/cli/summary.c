#include "cli/summary.h"

#include <string.h>

#include "common/log.h"
#include "common/sink.h"
#include "trace/build/passes.h"
#include "analysis/render.h"
#include "trace/sink.h"

#define VIEWER "https://ui.perfetto.dev"

void summary_put_size(struct sink *sink, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    double size = (double)bytes;
    for (; size >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        size /= 1000;
    sink_format(sink, "%.*f %s", unit == 0 || size >= 99.95 ? 0 : 1, size, units[unit]);
}

static void put_losses(struct sink *sink, const struct convert_losses *losses)
{
    const char *separator = "; not whole: ";
#define PUT(field, words)              \
    if (losses->field) {               \
        sink_text(sink, separator);    \
        sink_u64(sink, losses->field); \
        sink_text(sink, " " words);    \
        separator = ", ";              \
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
static void put_way_on(struct sink *line, const char *output, const struct convert_summary *summary)
{
    const char *ending = strstr(output, ".json");
    int name = ending ? (int)(ending - output) : (int)strlen(output);
    if (writer_format_for(output) != &pftrace && summary->unpacked > BROWSER_MAX)
        sink_format(line,
                    "; too large for a browser: 'gputrace convert %s %.*s.pftrace' makes it smaller, "
                    "'gputrace report %s' reads it as it is",
                    output, name, output, output);
    else
        sink_format(line, "; to look at it, open " VIEWER " or run 'gputrace report %s'", output);
}

void summary_print(const char *output, const struct convert_summary *summary)
{
    struct sink line;
    sink_init_memory(&line);
    sink_u64(&line, summary->events);
    sink_format(&line, " event%s in '%s' (", summary->events == 1 ? "" : "s", output);
    summary_put_size(&line, summary->bytes);
    sink_char(&line, ')');
    put_losses(&line, &summary->losses);
    if (summary->events > 0 && !summary->missed_all)
        put_way_on(&line, output, summary);
    if (*summary->missed) {
        sink_text(&line, "; ");
        render_visible(&line, summary->missed, "");
    }
    sink_char(&line, '\0');
    if (sink_finish(&line) == 0)
        notice("%s", line.data);
    sink_release(&line);
}
