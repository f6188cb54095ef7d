/*
 * Writes the program, the GPUs, the time, the steps, the filter and the losses, with dots between.
 */
#include "analysis/headline.h"

#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "trace/frames.h"
#include "analysis/engine/findings.h"
#include "analysis/selection/filter.h"
#include "analysis/engine/trace.h"
#include "analysis/render/render.h"
#include "analysis/render/render_paragraphs.h"
#include "analysis/summary/section_findings.h"

#define GAP " · "
#define PROGRAM_MOST 60 /* bytes of the program's words, so that the figures stay in sight */

static void write_program(struct buffer *out, const struct trace *trace, const char *path)
{
    const char *program = trace->program == EVENT_NO_TEXT ? frame_base_name(path) : trace_text(trace, trace->program);
    /* The name is enough of "/opt/app/run --fast". */
    const char *slash = memrchr(program, '/', strcspn(program, " "));
    if (*program == '/')
        program = slash + 1;
    size_t length = strlen(program);
    if (length <= PROGRAM_MOST) {
        buffer_text(out, program);
        return;
    }
    length = PROGRAM_MOST;
    while (length > 0 && ((unsigned char)program[length] & 0xc0) == 0x80)
        length--;
    buffer_bytes(out, program, length);
    buffer_text(out, "…");
}

/* Writes "2 × H100 80GB HBM3", and how busy they were on average. */
static void write_gpus(struct buffer *out, const struct trace *trace)
{
    static const char maker[] = "NVIDIA ";
    const char *name = "";
    int64_t count = 0, busy = 0;
    for (size_t i = 0; i < trace->devices.count; i++) {
        const struct trace_device *device = &trace->devices.items[i];
        if (!device->used)
            continue;
        const char *own = trace_text(trace, device->name);
        own += strncmp(own, maker, strlen(maker)) == 0 ? strlen(maker) : 0;
        name = count == 0 ? own : strcmp(own, name) == 0 ? name : "different GPUs";
        busy += device->busy.total / 1000; /* so that the sum of any times fits */
        count++;
    }
    if (count > 1)
        buffer_format(out, GAP "%s × %s", amount_count(count).text, *name ? name : "GPU");
    else if (*name)
        buffer_format(out, GAP "%s", name);
    buffer_format(out, GAP "%s", amount_time(trace_span(trace)).text);
    if (trace->ending != EVENT_NO_TEXT)
        buffer_format(out, ", %s", trace_text(trace, trace->ending));
    if (count > 0)
        buffer_format(out, GAP "GPU%s busy %s", count > 1 ? "s" : "",
                      amount_share(busy / count, trace_span(trace) / 1000).text);
    else
        buffer_text(out, GAP "no GPU work");
}

int headline_write(struct render *render, const struct trace *trace, const char *path)
{
    const struct findings *findings = findings_of(trace);
    struct buffer line;
    if (!findings)
        return -1;
    buffer_init_memory(&line);
    write_program(&line, trace, path);
    write_gpus(&line, trace);
    if (findings->window.steps > 0)
        buffer_format(&line, GAP "%s of %s", text_count((uint64_t)findings->window.steps, "step").text,
                      amount_mean(findings->window.to - findings->window.from, findings->window.steps).text);
    if (filter_wanted(&trace->options->filter)) {
        buffer_text(&line, GAP "only");
        filter_write(&line, &trace->options->filter);
    }
    for (size_t i = 0; i < trace->losses.count; i++)
        buffer_format(&line, GAP "lost or doubtful: %s %s", amount_count(trace->losses.items[i].count).text,
                      trace_text(trace, trace->losses.items[i].name));
    buffer_char(&line, '\0');
    int failure = buffer_finish(&line);
    if (failure == 0)
        render_line(render, line.data);
    render->any = true;
    buffer_release(&line);
    return failure == 0 ? 0 : -1;
}
