#include "cli/live_line.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/buffer.h"
#include "cli/summary.h"
#include "cli/terminal_line.h"

#define EVERY_ON_TERMINAL (250 * NS_PER_MS)
#define EVERY_ELSEWHERE (5 * NS_PER_S)

/* Of which time GPUs are said to be busy: what the library has not handed over yet is left out. */
#define BUSY_FROM (1500 * NS_PER_MS)
#define BUSY_TO (500 * NS_PER_MS)

static void put_seconds(struct buffer *text, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_S;
    if (seconds >= 3600)
        buffer_format(text, "%u:%02u:%02u", (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60),
                      (unsigned)(seconds % 60));
    else
        buffer_format(text, "%u:%02u", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
}

static void put_busy(struct buffer *text, const struct live *live)
{
    uint64_t now = clock_now();
    const char *before = ", GPU ";
    for (uint32_t gpu = 0; gpu < LIVE_GPUS_MAX; gpu++) {
        double busy = live_busy(live, gpu, now - BUSY_FROM, now - BUSY_TO);
        if (busy < 0)
            continue;
        buffer_format(text, "%s%.0f %%", before, 100 * busy);
        before = " / ";
    }
    if (*before == ',')
        buffer_text(text, ", no GPU work yet");
    else
        buffer_text(text, " busy");
}

static void put_line(struct buffer *text, const struct live *live, uint64_t disk)
{
    put_seconds(text, clock_now() - live->started);
    buffer_format(text, "  %llu event%s", (unsigned long long)live->events, live->events == 1 ? "" : "s");
    put_busy(text, live);
    buffer_text(text, ", ");
    summary_put_size(text, live->memory);
    buffer_text(text, " of GPU memory in use, ");
    summary_put_size(text, live->recorded);
    buffer_text(text, " recorded, ");
    summary_put_size(text, disk);
    buffer_text(text, " on disk");
}

static void tell(void *context, const struct live *live, uint64_t disk)
{
    struct live_line *line = context;
    struct buffer text;
    buffer_init_memory(&text);
    put_line(&text, live, disk);
    buffer_char(&text, '\0');
    text.length--;
    if (buffer_finish(&text) != 0)
        line->written = false;
    else if (line->terminal)
        terminal_line_show(&text);
    else
        notice("%s", text.data);
    buffer_release(&text);
    line->written = line->terminal;
}

struct drain_listener live_line_begin(struct live_line *line)
{
    *line = (struct live_line){.terminal = terminal_line_possible()};
    return (struct drain_listener){
        .tell = tell, .context = line, .every = line->terminal ? EVERY_ON_TERMINAL : EVERY_ELSEWHERE};
}

void live_line_end(struct live_line *line)
{
    if (line->written)
        terminal_line_clear();
    line->written = false;
}
