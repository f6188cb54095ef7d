#include "tool/cli/summary.h"

#include "base/log.h"
#include "base/sink.h"
#include "tool/convert/convert.h"
#include "tool/report/render.h"

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
        sink_text(&line, "; to look at it, open " VIEWER);
    if (*summary->missed) {
        sink_text(&line, "; ");
        render_visible(&line, summary->missed, "");
    }
    sink_char(&line, '\0');
    if (sink_finish(&line) == 0)
        notice("%s", line.data);
    sink_release(&line);
}
